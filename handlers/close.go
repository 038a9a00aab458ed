package handlers

import (
	"fencepost/lifecycle/pause"
	"fencepost/relay/wire"
)

// close ends the generation of an id (NIP-01). It runs in the reader, so that it
// can overtake nothing and nothing overtakes it (G9).
func (s *Session) close(m *wire.CloseMessage) {
	s.pause.At(pause.CloseRead)
	old := s.conn.Release(m.ID)
	s.pause.At(pause.CloseReleased)
	s.unindex(old)
}
