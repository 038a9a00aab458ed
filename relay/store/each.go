package store

import (
	"context"
	"errors"
	"io"

	"fencepost/relay/wire"
)

// eachPage is how many events Each holds in memory.
const eachPage = 256

// Each calls do with every event that a query of s returns, in its order, and ends with
// the first error, that of do included.
func Each(ctx context.Context, s Snapshot, filters []*wire.Filter, opt QueryOptions, do func(*wire.Event) error) (err error) {
	rows, err := s.Query(ctx, filters, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for page := []Record(nil); ; {
		page, err = rows.Next(ctx, page[:0], eachPage)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, r := range page {
			if err := do(r.Event); err != nil {
				return err
			}
		}
	}
}
