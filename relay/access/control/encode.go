package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxBytes bounds an encoded row.
const MaxBytes = 1 << 20

// ErrNewer is returned for a row that a newer version of this code has written.
var ErrNewer = errors.New("control row of a newer version")

// ErrBad is returned for a row that its type does not allow.
var ErrBad = errors.New("bad control row")

// Encode returns r for store.Control.Data. It sets the version, whatever r has,
// and returns ErrBad for what Decode would not read back.
func Encode(r Row) ([]byte, error) {
	r.Version = Version
	if err := r.check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBad, err)
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%w: over %d bytes", ErrBad, MaxBytes)
	}
	return data, nil
}

// Decode reads what Encode wrote. A row of a newer version gives ErrNewer,
// whatever else it holds; anything that this version would not have written
// gives ErrBad.
func Decode(data []byte) (Row, error) {
	if len(data) > MaxBytes {
		return Row{}, fmt.Errorf("%w: over %d bytes", ErrBad, MaxBytes)
	}
	if err := checkVersion(data); err != nil {
		return Row{}, err
	}
	var r Row
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Row{}, fmt.Errorf("%w: %w", ErrBad, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Row{}, fmt.Errorf("%w: more than one value", ErrBad)
	}
	r.dropEmpty()
	if err := r.check(); err != nil {
		return Row{}, err
	}
	return r, nil
}

// dropEmpty makes empty lists nil, which is how Encode writes them.
func (r *Row) dropEmpty() {
	if len(r.Roles) == 0 {
		r.Roles = nil
	}
	if len(r.Tags) == 0 {
		r.Tags = nil
	}
	if len(r.Codes) == 0 {
		r.Codes = nil
	}
	if len(r.Kinds) == 0 {
		r.Kinds = nil
	}
}

// checkVersion reads the version alone: the other fields of a newer row may
// have any form.
func checkVersion(data []byte) error {
	var v struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%w: %w", ErrBad, err)
	}
	switch {
	case v.Version > Version:
		return fmt.Errorf("%w: %d, this is %d", ErrNewer, v.Version, Version)
	case v.Version < 1:
		return fmt.Errorf("%w: no version", ErrBad)
	default:
		return nil
	}
}
