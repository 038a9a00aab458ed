-- Search, retention of the log, and tables that do not grow with what has gone.

-- When a stored event expires. It was in the row of the log, which retention removes.
ALTER TABLE events ADD COLUMN expires bigint;
UPDATE events e SET expires = l.due FROM log l WHERE l.position = e.position AND l.type = 1 AND l.due IS NOT NULL;
UPDATE log SET due = NULL WHERE type = 1 AND due IS NOT NULL;
ALTER TABLE log ADD CHECK (due IS NULL OR type = 2);
CREATE INDEX events_expires ON events (expires, position) WHERE expires IS NOT NULL AND gone IS NULL;

-- The words of stored events (NIP-50), as wire.Event.Words cuts them. In a table of its
-- own: what is removed is marked in events, which writes its row and index entries anew.
CREATE TABLE search (position bigint PRIMARY KEY, words tsvector NOT NULL);
CREATE INDEX search_words ON search USING gin (words);

-- Everything up to position was in the log at this time, in Unix seconds: what retention
-- by age goes by.
CREATE TABLE log_times (position bigint PRIMARY KEY, at bigint NOT NULL);

-- Vacuum comes when a fiftieth has gone, not a fifth, and does not pause for long. It leaves empty pages
-- at the end for what follows: to cut them off it would lock the table.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['log', 'events', 'tags', 'search'] LOOP
        EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, '
            'autovacuum_vacuum_cost_delay = 1, autovacuum_analyze_scale_factor = 0.05, vacuum_truncate = off)', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['log', 'events', 'search'] LOOP
        EXECUTE format('ALTER TABLE %I SET (toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_threshold = 2000, '
            'toast.autovacuum_vacuum_cost_delay = 1, toast.vacuum_truncate = off)', name);
    END LOOP;
END $$;

-- log_trim removes up to most rows below aim, oldest first, moves the floor with them, and returns it. It stops
-- before an ephemeral event, which the sweep has to void first, and leaves control rows.
-- times, when they are not NULL, take the place of those that are kept.
CREATE FUNCTION log_trim(aim bigint, most bigint, times_position bigint[], times_at bigint[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    lowest bigint;
    stop   bigint;
BEGIN
    PERFORM log_lock();
    SELECT floor, least(aim, floor + most, head + 1) INTO lowest, stop FROM log_head FOR UPDATE;
    IF times_position IS NOT NULL THEN
        DELETE FROM log_times WHERE position <> ALL (times_position);
        INSERT INTO log_times SELECT a, b FROM unnest(times_position, times_at) AS r (a, b) ON CONFLICT DO NOTHING;
    END IF;
    SELECT least(stop, min(position)) INTO stop FROM log WHERE position >= lowest AND position < stop AND type = 2;
    IF stop <= lowest THEN
        RETURN lowest;
    END IF;
    DELETE FROM log WHERE position >= lowest AND position < stop AND type <> 5;
    UPDATE log_head SET floor = stop;
    RETURN stop;
END $$;

-- As before, with when an event expires and its words.
DROP FUNCTION log_commit;
-- log_commit is the only writer of log rows. It takes the lock, checks that nothing
-- was committed since the decision, and writes everything: one round trip from the
-- lock to the commit. A row that lacks something fails its own transaction.
CREATE FUNCTION log_commit(
    guard bigint, first bigint, controls bigint, me bytea,
    log_type smallint[], log_detail smallint[], log_target bigint[], log_prefix bytea[], log_body bytea[],
    log_due bigint[], log_nanos integer[],
    event_position bigint[], event_id bytea[], event_pubkey bytea[], event_kind integer[], event_newest bigint[],
    event_address bytea[], event_raw bytea[], event_expires bigint[],
    search_position bigint[], search_words text[],
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
        INSERT INTO events (position, id, pubkey, kind, newest, address, raw, expires)
            SELECT a, b, c, d, e, f, g, nullif(h, -1)
            FROM unnest(event_position, event_id, event_pubkey, event_kind, event_newest, event_address, event_raw,
                event_expires) AS r (a, b, c, d, e, f, g, h);
    END IF;
    IF cardinality(search_position) > 0 THEN
        INSERT INTO search (position, words)
            SELECT a, array_to_tsvector(string_to_array(b, ' ')) FROM unnest(search_position, search_words) AS r (a, b);
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
