package kv

// ReadRecord reads a record as it stands in a store and writes it again: what the second
// one says is what the first one said.
func ReadRecord(value []byte) (again []byte, err error) {
	r, err := decodeRecord(value, "1")
	if err != nil {
		return nil, err
	}
	again, _ = r.encode()
	return again, nil
}
