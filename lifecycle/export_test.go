package lifecycle

// QueueSlots returns how many frames the queue keeps in memory, dead ones too.
func QueueSlots(c *Conn) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue.items)
}
