package stream

import "time"

// Client is what is known of a subscriber.
type Client struct {
	// Key is the name of its key. Form is grpc or websocket.
	Key, Form string
	Since     time.Time
	// Waiting transactions of the Buffer that it may be behind.
	Waiting, Buffer int
	// LagSlots is how far the oldest of them is behind the highest slot seen.
	LagSlots           uint64
	Filters, Addresses int
}

// Clients lists the subscribers, and says which slot is the highest seen.
func (s *Server) Clients() (slot uint64, list []Client) {
	h := s.hub
	h.mu.RLock()
	all := make([]*subscriber, 0, len(h.subscribers))
	for sub := range h.subscribers {
		all = append(all, sub)
	}
	h.mu.RUnlock()
	slot = h.slot.Load()
	list = make([]Client, 0, len(all))
	for _, sub := range all {
		waiting, oldest := sub.out.backlog()
		c := Client{Key: sub.key, Form: sub.form, Since: sub.since, Waiting: waiting, Buffer: sub.out.most}
		if oldest > 0 {
			c.LagSlots = max(slot, oldest) - oldest
		}
		sub.change.Lock()
		c.Filters, c.Addresses = len(sub.entries), countAddresses(sub.entries)
		sub.change.Unlock()
		list = append(list, c)
	}
	return slot, list
}
