package negentropy

// Client is the side that asks. It is used by one goroutine.
type Client struct {
	Have [][32]byte // ids that only this side has, as far as it is known
	Need [][32]byte // ids that only the other side has

	set   *Set
	limit int
	told  map[[32]byte]struct{} // all of Have and Need: a range that was cut off is compared again
}

// NewClient returns a client that reconciles set with that of a server, in messages of
// up to limit bytes, MinFrame at least.
func NewClient(set *Set, limit int) *Client {
	return &Client{set: set, limit: limit, told: make(map[[32]byte]struct{})}
}

// Start returns the first message.
func (c *Client) Start() []byte {
	t := turn{set: c.set, limit: c.limit, client: c}
	t.out.out = append(t.out.out, version)
	t.split(0, c.set.Len(), end)
	return t.out.out
}

// Next takes an answer and returns the next message, or nil when Have and Need are
// complete. ErrMessage when the answer is none, or one of another version.
func (c *Client) Next(answer []byte) ([]byte, error) {
	t := turn{set: c.set, limit: c.limit, client: c}
	out, err := t.run(answer)
	if err != nil || len(out) == 1 {
		return nil, err
	}
	return out, nil
}

// compare notes how the own items of a range differ from their ids.
func (c *Client) compare(ours []Item, theirs []byte) {
	wanted := make(map[[32]byte]struct{}, len(theirs)/32)
	for ; len(theirs) > 0; theirs = theirs[32:] {
		wanted[[32]byte(theirs[:32])] = struct{}{}
	}
	for i := range ours {
		if _, both := wanted[ours[i].ID]; both {
			delete(wanted, ours[i].ID)
		} else {
			c.Have = c.tell(c.Have, ours[i].ID)
		}
	}
	for id := range wanted {
		c.Need = c.tell(c.Need, id)
	}
}

// tell appends id unless it was told before.
func (c *Client) tell(ids [][32]byte, id [32]byte) [][32]byte {
	if _, again := c.told[id]; again {
		return ids
	}
	c.told[id] = struct{}{}
	return append(ids, id)
}
