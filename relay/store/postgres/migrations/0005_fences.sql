-- Additive. Fences of publishers, and the tokens of HTTP requests that were used.

-- token is SHA-256 of the owner's secret, used the beginnings of earlier ones.
CREATE TABLE fences (
    owner  bytea   NOT NULL CHECK (length(owner) = 32),
    name   text    COLLATE "C" NOT NULL,
    token  bytea   NOT NULL CHECK (length(token) = 32),
    active boolean NOT NULL,
    lease  bigint  NOT NULL CHECK (lease > 0),   -- milliseconds
    until  timestamptz NOT NULL,
    epoch  bigint  NOT NULL CHECK (epoch > 0),
    next   bigint  NOT NULL CHECK (next > 0),
    used   bytea   NOT NULL,
    cursor bytea   NOT NULL CHECK (length(cursor) <= 1024),
    PRIMARY KEY (owner, name)
) WITH (fillfactor = 50);

-- fence_commit writes what a commit made of fences. It stands in one statement with
-- log_commit, which has the lock of the log and refuses when anything was committed since
-- the fences were read. A lease that is renewed begins now, by this clock.
CREATE FUNCTION fence_commit(
    fence_owner bytea[], fence_name text[], fence_token bytea[], fence_active boolean[], renewed boolean[],
    fence_lease bigint[], fence_epoch bigint[], fence_next bigint[], fence_used bytea[], fence_cursor bytea[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fences AS f (owner, name, token, active, lease, until, epoch, next, used, cursor)
        SELECT a, b, c, d, g, clock_timestamp() + CASE WHEN e THEN g ELSE 0 END * interval '1 millisecond', h, i, j, k
        FROM unnest(fence_owner, fence_name, fence_token, fence_active, renewed, fence_lease, fence_epoch, fence_next, fence_used, fence_cursor)
            AS r (a, b, c, d, e, g, h, i, j, k)
        ON CONFLICT (owner, name) DO UPDATE SET
            token = excluded.token, active = excluded.active, lease = excluded.lease, until = excluded.until,
            epoch = excluded.epoch, next = excluded.next, used = excluded.used, cursor = excluded.cursor;
END $$;

CREATE TABLE used_tokens (
    id    bytea PRIMARY KEY CHECK (length(id) = 32),
    until timestamptz NOT NULL
);
CREATE INDEX used_tokens_until ON used_tokens (until);
