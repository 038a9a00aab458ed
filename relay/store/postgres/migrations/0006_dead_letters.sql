-- Additive. Rows of the log that a replica has given up to deliver, and the version of
-- the form of a row: a replica of an older program cannot read one with a higher number.
CREATE TABLE dead_letters (
    replica  text        COLLATE "C" NOT NULL,
    position bigint      NOT NULL CHECK (position > 0),
    attempts integer     NOT NULL,
    class    text        NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (replica, position)
);

ALTER TABLE log ADD COLUMN version smallint NOT NULL DEFAULT 1 CHECK (version > 0);
