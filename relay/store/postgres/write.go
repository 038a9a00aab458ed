package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"fencepost/relay/store"
)

const sqlCommit = `SELECT log_commit($1, $2, $3, $4,
	$5, $6, $7, $8, $9, $10, $11,
	$12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
	$22, $23, $24, $25, $26,
	$27, $28, $29,
	$30, $31, $32, $33, $34, $35,
	$36, $37, $38, $39, $40, $41)`

// columns are the rows of a transaction as log_commit takes them.
type columns struct {
	logType, logDetail  []int16
	logTarget           []int64
	logPrefix, logBody  [][]byte
	logDue              []int64
	logNanos            []int32
	position            []int64
	id, pubkey          [][]byte
	kind                []int32
	newest              []int64
	address, raw        [][]byte
	expires             []int64
	searched            []int64  // positions
	words               []string // of each, with blanks between them
	tagName             []int16
	tagValue            [][]byte
	tagNewest           []int64
	tagID               [][]byte
	tagPosition         []int64
	voided              []int64
	voidKind            []int16
	voidBy              []int64
	tombID, tombKey     [][]byte
	buried              [][]byte
	buriedUntil         []int64
	ban, unban, scope   [][]byte
	epoch               []int64
	erased              [][]byte
	erasedUntil         []int64
	groupName, groupKey [][]byte
}

// send runs log_commit for t: in a transaction of its own, or in the one that conn is in,
// which it commits.
func (t *txn) send(ctx context.Context, conn *pgx.Conn, me []byte, inside bool) error {
	c := t.columns()
	var b pgx.Batch
	sql, args := t.fences.with(sqlCommit, []any{
		t.version, t.first, int64(t.control), me,
		c.logType, c.logDetail, c.logTarget, c.logPrefix, c.logBody, c.logDue, c.logNanos,
		c.position, c.id, c.pubkey, c.kind, c.newest, c.address, c.raw, c.expires,
		c.searched, c.words,
		c.tagName, c.tagValue, c.tagNewest, c.tagID, c.tagPosition,
		c.voided, c.voidKind, c.voidBy,
		c.tombID, c.tombKey, c.buried, c.buriedUntil, c.ban, c.unban,
		c.scope, c.epoch, c.erased, c.erasedUntil, c.groupName, c.groupKey,
	})
	b.Queue(sql, args...)
	if t.newCopying {
		b.Queue(sqlSetCopying, t.copying.Token, t.copying.Done)
	}
	if inside {
		b.Queue("COMMIT")
	}
	return conn.SendBatch(ctx, &b).Close()
}

func (t *txn) columns() *columns {
	c := &columns{
		// Never nil, which would be NULL.
		logType: []int16{}, logDetail: []int16{}, logTarget: []int64{}, logPrefix: [][]byte{}, logBody: [][]byte{},
		logDue: []int64{}, logNanos: []int32{},
		position: []int64{}, id: [][]byte{}, pubkey: [][]byte{}, kind: []int32{}, newest: []int64{},
		address: [][]byte{}, raw: [][]byte{}, expires: []int64{}, searched: []int64{}, words: []string{},
		tagName: []int16{}, tagValue: [][]byte{}, tagNewest: []int64{}, tagID: [][]byte{}, tagPosition: []int64{},
		voided: []int64{}, voidKind: []int16{}, voidBy: []int64{},
		tombID: [][]byte{}, tombKey: [][]byte{}, buried: [][]byte{}, buriedUntil: []int64{},
		ban: [][]byte{}, unban: [][]byte{}, scope: [][]byte{}, epoch: []int64{},
		erased: [][]byte{}, erasedUntil: []int64{}, groupName: [][]byte{}, groupKey: [][]byte{},
	}
	for i := range t.rows {
		c.row(&t.rows[i])
	}
	for _, v := range t.voids {
		c.voided, c.voidKind, c.voidBy = append(c.voided, int64(v.position)), append(c.voidKind, int16(v.kind)), append(c.voidBy, int64(v.by))
	}
	for i := range t.newTombs {
		c.tombID, c.tombKey = append(c.tombID, t.newTombs[i].id[:]), append(c.tombKey, t.newTombs[i].pubkey[:])
	}
	for address, until := range t.newAddressTombs {
		c.buried, c.buriedUntil = append(c.buried, []byte(address)), append(c.buriedUntil, until)
	}
	for id, banned := range t.banned {
		if banned {
			c.ban = append(c.ban, id[:])
		} else {
			c.unban = append(c.unban, id[:])
		}
	}
	for scope, position := range t.newEpochs {
		c.scope, c.epoch = append(c.scope, []byte(scope)), append(c.epoch, int64(position))
	}
	for key, until := range t.newKeys {
		c.erased, c.erasedUntil = append(c.erased, key[:]), append(c.erasedUntil, until)
	}
	for i := range t.newGroups {
		c.groupName, c.groupKey = append(c.groupName, t.newGroups[i].name), append(c.groupKey, t.newGroups[i].self[:])
	}
	return c
}

func (c *columns) row(r *row) {
	detail, target, due, nanos := int16(r.Void), int64(0), int64(-1), int32(0)
	switch {
	case r.Removal != nil:
		detail, target = int16(r.Removal.Cause), int64(r.Removal.Target)
	case !r.due.IsZero():
		due, nanos = r.due.Unix(), int32(r.due.Nanosecond())
	}
	prefix := r.Prefix
	c.logType, c.logDetail = append(c.logType, int16(r.Type)), append(c.logDetail, detail)
	c.logTarget, c.logPrefix = append(c.logTarget, target), append(c.logPrefix, prefix[:])
	c.logBody = append(c.logBody, rowBody(&r.Entry))
	c.logDue, c.logNanos = append(c.logDue, due), append(c.logNanos, nanos)
	if r.Type == store.EntryEvent {
		c.event(r.record, int64(r.Position))
		c.search(r.record, int64(r.Position))
	}
}

func (c *columns) search(r *record, position int64) {
	if words := r.event.Words(); len(words) > 0 {
		c.searched, c.words = append(c.searched, position), append(c.words, strings.Join(words, " "))
	}
}

func (c *columns) event(r *record, position int64) {
	var address []byte
	if r.address != "" {
		address = []byte(r.address)
	}
	c.position, c.id, c.pubkey = append(c.position, position), append(c.id, r.id[:]), append(c.pubkey, r.pubkey[:])
	c.kind, c.newest = append(c.kind, int32(r.kind)), append(c.newest, r.newest())
	c.address, c.raw = append(c.address, address), append(c.raw, r.event.Raw())
	expires, ok := r.event.Expires()
	if !ok {
		expires = -1
	}
	c.expires = append(c.expires, expires)
	for _, tag := range r.event.Tags {
		if len(tag) > 1 && indexed(tag[0]) {
			c.tagName, c.tagValue = append(c.tagName, int16(tag[0][0])), append(c.tagValue, text(tag[1]))
			c.tagNewest, c.tagID = append(c.tagNewest, r.newest()), append(c.tagID, r.id[:])
			c.tagPosition = append(c.tagPosition, position)
		}
	}
}
