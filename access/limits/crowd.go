package limits

// Crowd counts what clients hold at one time, such as connections or streams. It is not safe for
// concurrent use: the caller holds a mutex of its own around each call. Make a Crowd with NewCrowd.
type Crowd struct {
	networks Networks
	most     int
	held     map[string]int // by the key of the scope
}

// NewCrowd returns a Crowd in which a client may hold most, and a network around it most times the
// factor that networks gives it.
func NewCrowd(most int, networks Networks) *Crowd {
	return &Crowd{networks: networks, most: most, held: map[string]int{}}
}

// Full returns whether client, or a network around it, holds as much as it may.
func (c *Crowd) Full(client string) bool {
	scopes, count := c.networks.Scopes(client)
	for _, scope := range scopes[:count] {
		if c.held[scope.Key] >= c.most*scope.Factor {
			return true
		}
	}
	return false
}

// Add counts one more for client.
func (c *Crowd) Add(client string) {
	scopes, count := c.networks.Scopes(client)
	for _, scope := range scopes[:count] {
		c.held[scope.Key]++
	}
}

// Remove counts one less for client.
func (c *Crowd) Remove(client string) {
	scopes, count := c.networks.Scopes(client)
	for _, scope := range scopes[:count] {
		if c.held[scope.Key]--; c.held[scope.Key] <= 0 {
			delete(c.held, scope.Key)
		}
	}
}

// Len returns how many clients and networks hold something.
func (c *Crowd) Len() int { return len(c.held) }
