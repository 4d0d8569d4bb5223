package limits

// Crowd counts what clients hold at one time: connections, streams. Its methods need the owner's
// lock. Make it with NewCrowd.
type Crowd struct {
	networks Networks
	most     int
	held     map[string]int
}

// NewCrowd lets a client hold most, and the networks around it most times their factors.
func NewCrowd(most int, networks Networks) *Crowd {
	return &Crowd{networks: networks, most: most, held: map[string]int{}}
}

// Full says that client, or a network around it, holds as much as it may.
func (c *Crowd) Full(client string) bool {
	scopes, count := c.networks.Scopes(client)
	for _, scope := range scopes[:count] {
		if c.held[scope.Key] >= c.most*scope.Factor {
			return true
		}
	}
	return false
}

// Add notes that client holds one more.
func (c *Crowd) Add(client string) {
	scopes, count := c.networks.Scopes(client)
	for _, scope := range scopes[:count] {
		c.held[scope.Key]++
	}
}

// Remove notes that client holds one less.
func (c *Crowd) Remove(client string) {
	scopes, count := c.networks.Scopes(client)
	for _, scope := range scopes[:count] {
		if c.held[scope.Key]--; c.held[scope.Key] <= 0 {
			delete(c.held, scope.Key)
		}
	}
}

// Len is how many clients and networks hold something.
func (c *Crowd) Len() int { return len(c.held) }
