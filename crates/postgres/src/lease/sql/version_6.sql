-- Elections that are forgotten leave behind how high their terms were: whatever begins in the same namespace begins above.
CREATE TABLE IF NOT EXISTS {schema}.forgotten (
    namespace text COLLATE "C" PRIMARY KEY,
    last_term bigint NOT NULL
);
