-- The log, the stored events and what decisions rest on; DESIGN.md explains it.

-- The row that every writing transaction locks first. version counts those
-- transactions; a decision holds only for the version that it was made under.
CREATE TABLE log_head (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    id       text    NOT NULL,            -- random, names this history
    version  bigint  NOT NULL DEFAULT 0,
    head     bigint  NOT NULL DEFAULT 0 CHECK (head >= 0),
    floor    bigint  NOT NULL DEFAULT 1 CHECK (floor >= 1),
    control  bigint  NOT NULL DEFAULT 0,  -- the newest control row
    trimmed  bigint  NOT NULL DEFAULT 0   -- events gone up to here may be missing
) WITH (fillfactor = 10);
INSERT INTO log_head (id) VALUES (left(replace(gen_random_uuid()::text, '-', ''), 16));

-- What each process committed last, to find out about a commit whose answer was lost.
CREATE TABLE writers (
    writer  bytea PRIMARY KEY,
    version bigint NOT NULL,
    at      timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10);

CREATE TABLE log (
    position  bigint   PRIMARY KEY CHECK (position > 0),
    type      smallint NOT NULL CHECK (type BETWEEN 1 AND 5),
    detail    smallint NOT NULL CHECK (detail >= 0), -- cause of a removal, kind of a void
    target    bigint   CHECK (target > 0),           -- of a removal
    prefix    bytea    NOT NULL CHECK (length(prefix) = 8),
    body      bytea,                                 -- of all but stored events and voids
    due       bigint,                                -- when the sweep has work with it
    due_nanos integer  NOT NULL DEFAULT 0,
    CHECK ((body IS NOT NULL) = (type IN (2, 3, 5)))
);
CREATE INDEX log_control ON log (position) WHERE type = 5;
CREATE INDEX log_due ON log (due, due_nanos, position) WHERE due IS NOT NULL;

-- newest is the complement of created_at: ascending order is the order of answers.
CREATE TABLE events (
    position bigint  PRIMARY KEY,
    id       bytea   NOT NULL CHECK (length(id) = 32),
    pubkey   bytea   NOT NULL CHECK (length(pubkey) = 32),
    kind     integer NOT NULL CHECK (kind BETWEEN 0 AND 65535),
    newest   bigint  NOT NULL CHECK (newest < 0),
    address  bytea,             -- of a replaceable or addressable one
    raw      bytea   NOT NULL,
    gone     bigint,            -- the position of what removed it
    gone_at  timestamptz
);
CREATE UNIQUE INDEX events_id ON events (id, coalesce(gone, 0));
CREATE UNIQUE INDEX events_address ON events (address, coalesce(gone, 0)) WHERE address IS NOT NULL;
CREATE INDEX events_time ON events (newest, id);
CREATE INDEX events_kind ON events (kind, newest, id);
CREATE INDEX events_author ON events (pubkey, newest, id);
CREATE INDEX events_author_kind ON events (pubkey, kind, newest, id);
CREATE INDEX events_gone ON events (gone_at) WHERE gone IS NOT NULL;

-- value is the length and the bytes of up to 64, or ff and the SHA-256 of more.
CREATE TABLE tags (
    name     smallint NOT NULL,
    value    bytea    NOT NULL CHECK (length(value) <= 65),
    newest   bigint   NOT NULL,
    id       bytea    NOT NULL,
    position bigint   NOT NULL,
    PRIMARY KEY (name, value, newest, id, position)
);

CREATE TABLE tombs (id bytea, pubkey bytea, PRIMARY KEY (id, pubkey));
CREATE TABLE address_tombs (address bytea PRIMARY KEY, until bigint NOT NULL);
CREATE TABLE bans (id bytea PRIMARY KEY);
CREATE TABLE epochs (scope bytea PRIMARY KEY, position bigint NOT NULL CHECK (position > 0));
CREATE TABLE erased_keys (pubkey bytea PRIMARY KEY, until bigint NOT NULL);
CREATE TABLE erased_groups (name bytea, self bytea, PRIMARY KEY (name, self));

-- log_lock is the queue before the row of log_head, first come, first served: who waits
-- for the row alone is overtaken by whoever comes when a new version of it appears.
CREATE FUNCTION log_lock() RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock('log_head'::regclass::oid::bigint)
$$;

-- log_commit is the only writer of log rows. It takes the lock, checks that nothing
-- was committed since the decision, and writes everything: one round trip from the
-- lock to the commit. A row that lacks something fails its own transaction.
CREATE FUNCTION log_commit(
    guard bigint, first bigint, controls bigint, me bytea,
    log_type smallint[], log_detail smallint[], log_target bigint[], log_prefix bytea[], log_body bytea[],
    log_due bigint[], log_nanos integer[],
    event_position bigint[], event_id bytea[], event_pubkey bytea[], event_kind integer[], event_newest bigint[],
    event_address bytea[], event_raw bytea[],
    tag_name smallint[], tag_value bytea[], tag_newest bigint[], tag_id bytea[], tag_position bigint[],
    void_position bigint[], void_kind smallint[], void_by bigint[],
    tomb_id bytea[], tomb_pubkey bytea[],
    address_tomb bytea[], address_until bigint[],
    ban bytea[], unban bytea[],
    epoch_scope bytea[], epoch_position bigint[],
    key_pubkey bytea[], key_until bigint[],
    group_name bytea[], group_self bytea[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    added bigint := cardinality(log_type);
BEGIN
    PERFORM log_lock();
    UPDATE log_head SET version = version + 1, head = head + added, control = greatest(control, controls)
        WHERE version = guard AND head = first - 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another commit came first' USING ERRCODE = 'FP001';
    END IF;
    INSERT INTO writers AS w (writer, version) VALUES (me, guard + 1)
        ON CONFLICT (writer) DO UPDATE SET version = excluded.version, at = now();
    -- First: a version makes room for the next one of its address.
    IF cardinality(void_position) > 0 THEN
        UPDATE events SET gone = b, gone_at = clock_timestamp()
            FROM unnest(void_position, void_by) AS r (a, b) WHERE position = a;
        UPDATE log SET type = 4, detail = b, body = NULL, due = NULL
            FROM unnest(void_position, void_kind) AS r (a, b) WHERE position = a;
    END IF;
    IF added > 0 THEN
        INSERT INTO log (position, type, detail, target, prefix, body, due, due_nanos)
            SELECT first - 1 + n, a, b, nullif(c, 0), d, e, nullif(f, -1), g
            FROM unnest(log_type, log_detail, log_target, log_prefix, log_body, log_due, log_nanos)
                WITH ORDINALITY AS r (a, b, c, d, e, f, g, n);
    END IF;
    IF cardinality(event_position) > 0 THEN
        INSERT INTO events (position, id, pubkey, kind, newest, address, raw)
            SELECT a, b, c, d, e, f, g
            FROM unnest(event_position, event_id, event_pubkey, event_kind, event_newest, event_address, event_raw)
                AS r (a, b, c, d, e, f, g);
    END IF;
    IF cardinality(tag_name) > 0 THEN
        INSERT INTO tags (name, value, newest, id, position)
            SELECT a, b, c, d, e FROM unnest(tag_name, tag_value, tag_newest, tag_id, tag_position) AS r (a, b, c, d, e)
            ON CONFLICT DO NOTHING; -- an event may hold a tag twice
    END IF;
    IF cardinality(tomb_id) > 0 THEN
        INSERT INTO tombs SELECT a, b FROM unnest(tomb_id, tomb_pubkey) AS r (a, b) ON CONFLICT DO NOTHING;
    END IF;
    IF cardinality(address_tomb) > 0 THEN
        INSERT INTO address_tombs SELECT a, b FROM unnest(address_tomb, address_until) AS r (a, b)
            ON CONFLICT (address) DO UPDATE SET until = excluded.until;
    END IF;
    IF cardinality(ban) > 0 THEN
        INSERT INTO bans SELECT a FROM unnest(ban) AS r (a) ON CONFLICT DO NOTHING;
    END IF;
    IF cardinality(unban) > 0 THEN
        DELETE FROM bans WHERE id = ANY (unban);
    END IF;
    IF cardinality(epoch_scope) > 0 THEN
        INSERT INTO epochs SELECT a, b FROM unnest(epoch_scope, epoch_position) AS r (a, b)
            ON CONFLICT (scope) DO UPDATE SET position = excluded.position;
    END IF;
    IF cardinality(key_pubkey) > 0 THEN
        INSERT INTO erased_keys SELECT a, b FROM unnest(key_pubkey, key_until) AS r (a, b)
            ON CONFLICT (pubkey) DO UPDATE SET until = excluded.until;
    END IF;
    IF cardinality(group_name) > 0 THEN
        INSERT INTO erased_groups SELECT a, b FROM unnest(group_name, group_self) AS r (a, b) ON CONFLICT DO NOTHING;
    END IF;
END $$;
