-- Additive. Who is connected where: a cache, which a crash of the database empties and the
-- next reports fill again.
CREATE UNLOGGED TABLE session_nodes (
    node        text        NOT NULL,
    incarnation bytea       NOT NULL,
    started     timestamptz NOT NULL DEFAULT clock_timestamp(), -- its first report
    observed    timestamptz NOT NULL DEFAULT clock_timestamp(), -- its last one
    stopped     boolean     NOT NULL,
    connections integer     NOT NULL CHECK (connections >= 0),
    PRIMARY KEY (node, incarnation)
) WITH (fillfactor = 50);
CREATE INDEX session_nodes_observed ON session_nodes (observed);

CREATE UNLOGGED TABLE sessions (
    node        text        NOT NULL,
    incarnation bytea       NOT NULL,
    conn        bigint      NOT NULL,
    pubkey      bytea       NOT NULL CHECK (length(pubkey) = 32),
    active      timestamptz NOT NULL,
    ended       timestamptz NOT NULL DEFAULT 'infinity',
    doc         bytea       CHECK (length(doc) <= 1024),
    PRIMARY KEY (node, incarnation, conn, pubkey)
) WITH (fillfactor = 70);
CREATE INDEX sessions_pubkey ON sessions (pubkey, ended DESC);
CREATE INDEX sessions_ended ON sessions (node, incarnation, ended) WHERE ended < 'infinity';
