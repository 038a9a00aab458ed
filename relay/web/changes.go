package web

import "context"

// changes says from where a changes feed can go on: floor - 1 to head of that epoch.
type changes struct {
	Epoch string `json:"epoch"`
	Floor uint64 `json:"floor"`
	Head  uint64 `json:"head"`
}

// changes returns nil where there is no log or where it cannot be read now.
func (s *server) changes(ctx context.Context) *changes {
	if s.Log == nil {
		return nil
	}
	log, err := s.Log(ctx)
	if err != nil {
		return nil // readiness tells of the fault; the rest of the document stands
	}
	return &changes{Epoch: log.Epoch, Floor: log.Floor, Head: log.Head}
}
