package stream

import "time"

// Client describes a subscriber.
type Client struct {
	// Key is the name of its API key. Form is grpc or websocket.
	Key, Form string
	Since     time.Time
	// Waiting is how many deliveries wait for the client, Buffer how many may.
	Waiting, Buffer int
	// LagSlots is by how many slots the oldest delivery that waits is below the highest slot seen;
	// 0 if that delivery is a note.
	LagSlots uint64
	// Filters and Addresses count its filters and the addresses in them.
	Filters, Addresses int
}

// Clients returns the highest slot seen, and the subscribers.
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
