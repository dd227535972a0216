DELETE FROM run WHERE job IN (
    SELECT job.id FROM job JOIN election ON job.namespace = election.namespace AND job.election = election.name
    WHERE election.id = ?1
);
DELETE FROM job WHERE (namespace, election) = (SELECT namespace, name FROM election WHERE id = ?1);
DELETE FROM message WHERE mailbox IN (
    SELECT mailbox.id FROM mailbox JOIN election ON (mailbox.namespace, mailbox.name) = (election.namespace, election.name)
    WHERE election.id = ?1
);
DELETE FROM mailbox WHERE (namespace, name) = (SELECT namespace, name FROM election WHERE id = ?1);
DELETE FROM stand_by WHERE election = ?1;
DELETE FROM leader WHERE election = ?1;
DELETE FROM lease WHERE election = ?1;
DELETE FROM history WHERE election = ?1;
DELETE FROM election WHERE id = ?1;
