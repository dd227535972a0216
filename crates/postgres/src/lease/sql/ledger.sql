-- Jobs and their ticks. Whoever changes a job or its runs locks the job first.
CREATE TABLE IF NOT EXISTS {schema}.job (
    election uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    schedule text NOT NULL,
    -- All ticks up to this second since the Unix epoch are decided.
    mark bigint NOT NULL,
    fired bigint NOT NULL DEFAULT 0,
    missed bigint NOT NULL DEFAULT 0,
    skipped bigint NOT NULL DEFAULT 0,
    paused_at timestamptz,
    -- The second at which a run was asked for that has not begun.
    requested bigint,
    PRIMARY KEY (election, name)
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS {schema}.run (
    election uuid NOT NULL,
    job text COLLATE "C" NOT NULL,
    tick bigint NOT NULL,
    -- Owns it, together with the term.
    nonce uuid NOT NULL,
    term bigint NOT NULL,
    candidate text NOT NULL,
    began_at timestamptz NOT NULL,
    -- All that follows is null until the end is told.
    ended_at timestamptz,
    took_ns bigint,
    outcome text,
    why text,
    retries bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (election, job, tick)
) WITH (fillfactor = 50);

CREATE INDEX IF NOT EXISTS run_without_end ON {schema}.run (election, job, tick) WHERE ended_at IS NULL;
-- Leaders look for these every few seconds.
CREATE INDEX IF NOT EXISTS run_not_begun ON {schema}.run (election, job, tick) WHERE outcome = 'not-begun';

-- Makes jobs known. The first row has place 0 and says what became of it; then there is one row for each job.
CREATE OR REPLACE FUNCTION {schema}.open_jobs(
    p_election uuid, p_nonce uuid, p_term bigint, p_jobs text[], p_schedules text[], p_from bigint[], p_jobs_max bigint
) RETURNS TABLE (place integer, verdict text, mark bigint, interrupted bigint[], unbegun bigint[], is_paused boolean,
    requested bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    held_until timestamptz;
    at timestamptz;
    known text;
    start bigint;
BEGIN
    PERFORM {schema}.be_durable();
    place := 0;
    -- The lock keeps the lease from changing hands, and jobs from being opened twice at once.
    SELECT e.expires_at INTO held_until FROM {schema}.election AS e
    WHERE e.id = p_election AND e.nonce = p_nonce AND e.last_term = p_term
    FOR NO KEY UPDATE;
    -- Read after the lock: the lease may have run out while it was waited for.
    at := clock_timestamp();
    IF (held_until > at) IS NOT TRUE THEN
        verdict := 'not holder';
        RETURN NEXT;
        RETURN;
    END IF;
    IF p_jobs_max < (SELECT count(*) FROM {schema}.job AS j WHERE j.election = p_election) + (
        SELECT count(*) FROM unnest(p_jobs) AS asked (name)
        WHERE NOT EXISTS (SELECT FROM {schema}.job AS j WHERE j.election = p_election AND j.name = asked.name)
    ) THEN
        verdict := 'too many';
        RETURN NEXT;
        RETURN;
    END IF;
    verdict := 'opened';
    RETURN NEXT;
    -- Everybody locks in the same order, so that nobody waits in a circle.
    FOR place IN
        SELECT asked.place FROM unnest(p_jobs) WITH ORDINALITY AS asked (name, place)
        ORDER BY asked.name COLLATE "C", asked.place
    LOOP
        -- A leader whose clock is fast must not decide what is still to come.
        start := least(p_from[place], {schema}.unix_ms(at) / 1000);
        SELECT j.schedule, j.mark INTO known, mark FROM {schema}.job AS j
        WHERE j.election = p_election AND j.name = p_jobs[place] FOR UPDATE;
        -- Jobs are opened every few seconds, and mostly there is nothing to write.
        IF NOT FOUND THEN
            INSERT INTO {schema}.job AS j (election, name, schedule, mark)
            VALUES (p_election, p_jobs[place], p_schedules[place], start)
            RETURNING j.mark INTO mark;
        ELSIF known <> p_schedules[place] THEN
            UPDATE {schema}.job AS j SET schedule = p_schedules[place], mark = greatest(j.mark, start)
            WHERE j.election = p_election AND j.name = p_jobs[place]
            RETURNING j.mark INTO mark;
        END IF;
        SELECT j.paused_at IS NOT NULL, j.requested INTO is_paused, requested FROM {schema}.job AS j
        WHERE j.election = p_election AND j.name = p_jobs[place];
        interrupted := ARRAY(
            SELECT r.tick FROM {schema}.run AS r
            WHERE r.election = p_election AND r.job = p_jobs[place] AND r.ended_at IS NULL AND r.term < p_term
            ORDER BY r.tick
        );
        unbegun := ARRAY(
            SELECT r.tick FROM {schema}.run AS r
            WHERE r.election = p_election AND r.job = p_jobs[place] AND r.outcome = 'not-begun' AND r.term < p_term
            ORDER BY r.tick
        );
        RETURN NEXT;
    END LOOP;
END
$$;

-- Decides one tick, unless somebody else keeps its election or its job locked. The number is the mark, or by how many
-- milliseconds it is early.
CREATE OR REPLACE FUNCTION {schema}.claim_in(
    p_election uuid, p_nonce uuid, p_term bigint, p_candidate text, p_job text, p_tick bigint, p_act text,
    p_missed bigint, p_runs_max bigint, p_early_ms bigint, OUT verdict text, OUT number bigint
)
LANGUAGE plpgsql AS $$
DECLARE
    j {schema}.job;
    r {schema}.run;
    at timestamptz := clock_timestamp();
BEGIN
    PERFORM FROM {schema}.election AS e
    WHERE e.id = p_election AND e.nonce = p_nonce AND e.last_term = p_term AND e.expires_at > at
    FOR KEY SHARE SKIP LOCKED;
    IF NOT FOUND THEN
        PERFORM FROM {schema}.election AS e
        WHERE e.id = p_election AND e.nonce = p_nonce AND e.last_term = p_term AND e.expires_at > at;
        verdict := CASE WHEN FOUND THEN 'busy' ELSE 'not holder' END;
        RETURN;
    END IF;
    SELECT * INTO j FROM {schema}.job WHERE election = p_election AND name = p_job FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        PERFORM FROM {schema}.job WHERE election = p_election AND name = p_job;
        verdict := CASE WHEN FOUND THEN 'busy' ELSE 'unopened' END;
        RETURN;
    END IF;
    number := p_tick * 1000 - {schema}.unix_ms(at);
    IF number > p_early_ms THEN
        verdict := 'early';
        RETURN;
    END IF;
    IF j.paused_at IS NOT NULL THEN
        -- Only a claim whose reply was lost is granted once more.
        PERFORM FROM {schema}.run
        WHERE election = p_election AND job = p_job AND tick = p_tick AND p_act IN ('run', 'again')
            AND ended_at IS NULL AND nonce = p_nonce AND term = p_term;
        IF NOT FOUND THEN
            verdict := 'paused';
            RETURN;
        END IF;
    END IF;
    verdict := 'granted';
    IF p_act <> 'again' AND p_tick > j.mark THEN
        UPDATE {schema}.job SET
            mark = p_tick,
            missed = least(missed + CASE WHEN p_act = 'skip' THEN 0 ELSE p_missed END, 9007199254740992),
            skipped = least(skipped + CASE WHEN p_act = 'skip' THEN p_missed ELSE 0 END, 9007199254740992),
            fired = fired + CASE WHEN p_act = 'run' THEN 1 ELSE 0 END,
            requested = CASE WHEN p_act = 'run' AND requested <= p_tick THEN NULL ELSE requested END
        WHERE election = p_election AND name = p_job;
        IF p_act = 'run' THEN
            INSERT INTO {schema}.run (election, job, tick, nonce, term, candidate, began_at)
            VALUES (p_election, p_job, p_tick, p_nonce, p_term, p_candidate, at);
            DELETE FROM {schema}.run WHERE election = p_election AND job = p_job AND tick <= (
                SELECT tick FROM {schema}.run WHERE election = p_election AND job = p_job
                ORDER BY tick DESC OFFSET p_runs_max LIMIT 1
            );
        END IF;
        RETURN;
    END IF;
    IF p_act IN ('run', 'again') THEN
        SELECT * INTO r FROM {schema}.run WHERE election = p_election AND job = p_job AND tick = p_tick;
        -- A claim whose reply was lost is granted once more. A run that was cut off, or that never began, is taken over by a
        -- later leader.
        IF FOUND AND r.ended_at IS NULL AND r.nonce = p_nonce AND r.term = p_term THEN
            RETURN;
        ELSIF FOUND AND p_act = 'again' AND r.term < p_term AND (r.ended_at IS NULL OR r.outcome = 'not-begun') THEN
            UPDATE {schema}.run SET
                nonce = p_nonce, term = p_term, candidate = p_candidate, began_at = at,
                ended_at = NULL, took_ns = NULL, outcome = NULL, why = NULL, retries = 0
            WHERE election = p_election AND job = p_job AND tick = p_tick;
            UPDATE {schema}.job SET
                fired = fired + 1, missed = greatest(missed - CASE WHEN r.outcome = 'not-begun' THEN 1 ELSE 0 END, 0)
            WHERE election = p_election AND name = p_job;
            RETURN;
        END IF;
    END IF;
    verdict := 'decided';
    number := j.mark;
END
$$;

-- Decides ticks, in the order of the batch. A row that somebody keeps locked must not cost the other elections.
CREATE OR REPLACE FUNCTION {schema}.claim(
    p_elections uuid[], p_nonces uuid[], p_terms bigint[], p_candidates text[], p_jobs text[], p_ticks bigint[],
    p_acts text[], p_missed bigint[], p_runs_max bigint, p_early_ms bigint
) RETURNS TABLE (place integer, verdict text, number bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS $$
DECLARE
    busy uuid[] := '{}';
    i integer;
BEGIN
    -- A mark that a crash took back would let a tick fire twice.
    PERFORM {schema}.be_durable();
    BEGIN
        -- No lease changes hands meanwhile, and renewals go on. Everybody locks in the same order, so that nobody waits in
        -- a circle.
        PERFORM FROM {schema}.election WHERE id = ANY (p_elections) ORDER BY id FOR KEY SHARE;
        PERFORM {schema}.lock_jobs(p_elections, p_jobs);
    EXCEPTION WHEN lock_not_available THEN
        -- Each is tried by itself, then.
    END;
    FOR i IN 1 .. cardinality(p_elections) LOOP
        place := i;
        verdict := 'busy';
        -- No tick may overtake an earlier one that has to wait.
        IF p_elections[i] <> ALL (busy) THEN
            SELECT said.verdict, said.number INTO verdict, number FROM {schema}.claim_in(
                p_elections[i], p_nonces[i], p_terms[i], p_candidates[i], p_jobs[i], p_ticks[i], p_acts[i],
                p_missed[i], p_runs_max, p_early_ms
            ) AS said;
        END IF;
        IF verdict = 'busy' THEN
            busy := busy || p_elections[i];
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION {schema}.lock_jobs(p_elections uuid[], p_jobs text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM {schema}.job AS j
    WHERE (j.election, j.name) IN (SELECT asked.election, asked.name FROM unnest(p_elections, p_jobs) AS asked (election, name))
    ORDER BY j.election, j.name FOR UPDATE;
END
$$;

-- Tells how runs ended. Returns the places of those that are written down.
CREATE OR REPLACE FUNCTION {schema}.finish(
    p_elections uuid[], p_nonces uuid[], p_terms bigint[], p_jobs text[], p_ticks bigint[], p_took_ns bigint[],
    p_outcomes text[], p_reasons text[], p_retries bigint[]
) RETURNS integer[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    heard integer[] := '{}';
    i integer;
BEGIN
    -- What is forgotten of this in a crash would show as interrupted, long after, and a tick that was given back would be lost.
    PERFORM {schema}.be_durable();
    PERFORM {schema}.lock_jobs(p_elections, p_jobs);
    FOR i IN 1 .. cardinality(p_elections) LOOP
        PERFORM FROM {schema}.run
        WHERE election = p_elections[i] AND job = p_jobs[i] AND tick = p_ticks[i]
            AND nonce = p_nonces[i] AND term = p_terms[i];
        CONTINUE WHEN NOT FOUND;
        heard := heard || i;
        -- Told twice, the first counts.
        UPDATE {schema}.run SET
            ended_at = clock_timestamp(), took_ns = p_took_ns[i], outcome = p_outcomes[i], why = p_reasons[i],
            retries = p_retries[i]
        WHERE election = p_elections[i] AND job = p_jobs[i] AND tick = p_ticks[i] AND ended_at IS NULL;
        -- A run that never began has not fired: its tick is missed until a later leader runs it.
        IF FOUND AND p_outcomes[i] = 'not-begun' THEN
            UPDATE {schema}.job SET fired = greatest(fired - 1, 0), missed = least(missed + 1, 9007199254740992)
            WHERE election = p_elections[i] AND name = p_jobs[i];
        END IF;
    END LOOP;
    RETURN heard;
END
$$;

-- All jobs in order of their names, each with its latest runs, the newest first. A job without runs has a row without a
-- tick.
CREATE OR REPLACE FUNCTION {schema}.jobs(p_election uuid, p_runs_max bigint) RETURNS TABLE (
    job text, schedule text, mark bigint, fired bigint, missed bigint, skipped bigint, tick bigint, term bigint,
    candidate text, began_at_ms bigint, ended_at_ms bigint, took_ns bigint, outcome text, why text,
    retries bigint, paused_at_ms bigint, requested bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT j.name, j.schedule, j.mark, j.fired, j.missed, j.skipped, latest.tick, latest.term, latest.candidate,
        {schema}.unix_ms(latest.began_at), {schema}.unix_ms(latest.ended_at), latest.took_ns, latest.outcome, latest.why,
        latest.retries, {schema}.unix_ms(j.paused_at), j.requested
    FROM {schema}.job AS j
    LEFT JOIN LATERAL (
        SELECT * FROM {schema}.run AS r WHERE r.election = j.election AND r.job = j.name
        ORDER BY r.tick DESC LIMIT p_runs_max
    ) AS latest ON true
    WHERE j.election = p_election
    ORDER BY j.name, latest.tick DESC
$$;

-- Does what somebody wants of a job: 'pause', 'resume' or 'run-now'. Returns whether it was known.
CREATE OR REPLACE FUNCTION {schema}.steer_job(p_election uuid, p_job text, p_order text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
BEGIN
    PERFORM {schema}.be_durable();
    UPDATE {schema}.job SET
        paused_at = CASE p_order
            WHEN 'pause' THEN coalesce(paused_at, clock_timestamp()) WHEN 'resume' THEN NULL ELSE paused_at END,
        requested = CASE WHEN p_order = 'run-now' THEN coalesce(requested, {schema}.unix_ms(clock_timestamp()) / 1000)
            ELSE requested END
    WHERE election = p_election AND name = p_job;
    RETURN FOUND;
END
$$;

-- Returns whether the job was known.
CREATE OR REPLACE FUNCTION {schema}.forget_job(p_election uuid, p_job text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
BEGIN
    PERFORM {schema}.be_durable();
    DELETE FROM {schema}.job WHERE election = p_election AND name = p_job;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM {schema}.run WHERE election = p_election AND job = p_job;
    RETURN true;
END
$$;
