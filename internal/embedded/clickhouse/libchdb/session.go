package libchdb

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"
)

// Conn is a connection taken from a Pool. One goroutine uses it; Release gives it back.
type Conn struct {
	pool     *Pool
	raw      *rawConn
	tag      string
	database string
	current  map[string]string // settings that differ from the default, as last set
	unknown  map[string]bool   // settings in an unknown state: set back before the next query
}

// Release gives the connection back to its pool.
func (c *Conn) Release() { c.pool.free <- c }

// Prepare brings the connection's database and settings to what one request asks; settings of the request before go back to their default. An
// empty database means "default". Errors are the engine's: 81 for an unknown database, 115 for an unknown setting.
func (c *Conn) Prepare(database string, settings map[string]string) error {
	if database == "" {
		database = "default"
	}
	for name := range settings {
		if !c.pool.settings[name] {
			return Errorf(115, "UNKNOWN_SETTING", "Unknown setting '%s'", name)
		}
	}
	if c.database != database {
		if err := c.exec("USE " + quoteIdentifier(database)); err != nil {
			return err
		}
		c.database = database
	}
	changes := c.changes(settings)
	if len(changes) == 0 {
		return nil
	}
	for name := range changes {
		c.unknown[name] = true // until the engine agrees
		delete(c.current, name)
	}
	if err := c.exec("SET " + join(changes)); err != nil {
		return err
	}
	for name := range changes {
		delete(c.unknown, name)
		if value, ok := settings[name]; ok {
			c.current[name] = value
		}
	}
	return nil
}

// initial returns what a new connection is set to. One query at a time runs on a connection, so the connection's tag in log_comment names the
// query to kill.
func (c *Conn) initial() map[string]string {
	all := map[string]string{"log_comment": quote(c.tag)}
	for name := range c.pool.base {
		all[name] = c.fallback(name)
	}
	return all
}

// fallback is the SQL text of a setting's value when no request asks for another.
func (c *Conn) fallback(name string) string {
	if value, ok := c.pool.base[name]; ok {
		return quote(value)
	}
	return "DEFAULT"
}

// changes returns what has to be set, name to SQL literal or DEFAULT.
func (c *Conn) changes(settings map[string]string) map[string]string {
	changes := map[string]string{}
	for name := range c.unknown {
		changes[name] = c.fallback(name)
	}
	for name := range c.current {
		if _, wanted := settings[name]; !wanted {
			changes[name] = c.fallback(name)
		}
	}
	for name, value := range settings {
		if was, ok := c.current[name]; !ok || was != value {
			changes[name] = quote(value)
		}
	}
	return changes
}

// Forget tells the connection that a statement of the user may have changed these settings, or the database, behind its back.
func (c *Conn) Forget(database bool, settings []string) {
	if database {
		c.database = ""
	}
	for _, name := range settings {
		if c.pool.settings[name] {
			delete(c.current, name)
			c.unknown[name] = true
		}
	}
	if c.unknown["log_comment"] { // the tag by which KILL QUERY finds the query
		if c.exec("SET log_comment="+quote(c.tag)) == nil {
			delete(c.unknown, "log_comment")
		}
	}
}

// Query runs one statement and returns its whole result; Free it. When ctx ends the query is killed.
func (c *Conn) Query(ctx context.Context, query []byte, format string, params map[string]string) (*Result, error) {
	stop := c.killOnDone(ctx)
	defer stop()
	return c.raw.query(query, format, params)
}

// Stream runs one statement and hands each chunk of the result to yield; a chunk is valid during its call only. When ctx ends the query is
// killed; when yield fails the query is cancelled and yield's error returned.
func (c *Conn) Stream(ctx context.Context, query []byte, format string, params map[string]string, yield func([]byte) error) error {
	stop := c.killOnDone(ctx)
	defer stop()
	return c.raw.stream(query, format, params, yield)
}

// killOnDone kills the connection's query when ctx ends. One KILL is not enough: it may come before the query is in system.processes. The
// returned function waits for a KILL under way, so that it cannot hit the connection's next query.
func (c *Conn) killOnDone(ctx context.Context) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	detach := context.AfterFunc(ctx, func() {
		defer close(done)
		kill := fmt.Sprintf("KILL QUERY WHERE Settings['log_comment'] = %s ASYNC", quote(c.tag))
		for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
			// An error here has no other remedy than the next attempt.
			_ = c.pool.killer.exec(kill)
			select {
			case <-quit:
				return
			case <-time.After(wait):
			}
		}
	})
	return func() {
		if !detach() {
			close(quit)
			<-done
		}
	}
}

func (c *Conn) exec(query string) error {
	r, err := c.raw.query([]byte(query), "Null", nil)
	if err != nil {
		return err
	}
	r.Free()
	return nil
}

func (c *Conn) text(query string) (string, error) {
	r, err := c.raw.query([]byte(query), "TSVRaw", nil)
	if err != nil {
		return "", err
	}
	defer r.Free()
	return strings.TrimSuffix(string(r.Bytes()), "\n"), nil
}

func join(changes map[string]string) string {
	parts := make([]string, 0, len(changes))
	for name, value := range changes {
		parts = append(parts, name+"="+value)
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

func quote(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }

func quoteIdentifier(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(s) + "`"
}
