package libchdb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
)

// Conn is a connection of a Pool. Only one goroutine may use it at a time.
type Conn struct {
	pool     *Pool
	raw      *rawConn
	tag      string            // names this connection's query in log_comment
	database string            // the current one; empty if it is not known
	current  map[string]string // settings that differ from the default, with their values
	unknown  map[string]bool   // settings with unknown values: Prepare sets them
	running  running
}

// Release gives the connection back to its pool.
func (c *Conn) Release() { c.pool.free <- c }

// Prepare sets the database and the settings that one request asks for. A setting that the request
// does not name gets its value in PoolConfig, or else its default. An empty database means
// "default". Errors are those of the engine: 81 for an unknown database, 115 for an unknown
// setting.
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
		c.unknown[name] = true // until the SET has succeeded
		delete(c.current, name)
	}
	// With readonly = 1 only readonly itself can be changed, and not together with others in one
	// statement.
	if _, found := changes["readonly"]; found {
		if err := c.exec("SET readonly=DEFAULT"); err != nil {
			return err
		}
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

// initial returns the settings of a new connection. log_comment is the connection's tag: as only
// one query at a time runs on a connection, the tag names the query to kill.
func (c *Conn) initial() map[string]string {
	all := map[string]string{"log_comment": quote(c.tag)}
	for name := range c.pool.base {
		all[name] = c.fallback(name)
	}
	return all
}

// fallback returns the SQL text of a setting's value for requests that do not set it.
func (c *Conn) fallback(name string) string {
	if value, ok := c.pool.base[name]; ok {
		return quote(value)
	}
	return "DEFAULT"
}

// changes returns what has to be set before a request with these settings: names, with a SQL
// literal or DEFAULT.
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

// Forget must be called after a statement of the user that may have changed the database or these
// settings: the next Prepare sets them again. log_comment is set again at once.
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

// Changed returns those of the settings that do not have their default value now, with the values.
// A SET of the user may have changed them.
func (c *Conn) Changed(names []string) (map[string]string, error) {
	list := make([]string, 0, len(names))
	for _, name := range names {
		if c.pool.settings[name] {
			list = append(list, quote(name))
		}
	}
	changed := map[string]string{}
	if len(list) == 0 {
		return changed, nil
	}
	r, err := c.raw.query([]byte("SELECT name, value FROM system.settings WHERE changed AND name IN ("+strings.Join(list, ", ")+")"), "JSONCompactEachRow", nil)
	if err != nil {
		return nil, err
	}
	defer r.Free()
	for rows := json.NewDecoder(bytes.NewReader(r.Bytes())); ; {
		var row [2]string
		if err := rows.Decode(&row); errors.Is(err, io.EOF) {
			return changed, nil
		} else if err != nil {
			return nil, fmt.Errorf("read settings: %w", err)
		}
		changed[row[0]] = row[1]
	}
}

// Database returns the connection's current database.
func (c *Conn) Database() (string, error) { return c.text("SELECT currentDatabase()") }

// DropTemporary drops the connection's temporary tables and views.
func (c *Conn) DropTemporary() error {
	if err := c.Prepare("", nil); err != nil { // a setting of the user could hide a table
		return err
	}
	names, err := c.text("SELECT name FROM system.tables WHERE is_temporary")
	if err != nil {
		return err
	}
	for name := range strings.Lines(names) {
		if err := c.exec("DROP TEMPORARY TABLE IF EXISTS " + quoteIdentifier(strings.TrimSuffix(name, "\n"))); err != nil {
			return err
		}
	}
	return nil
}

// Query runs one statement and returns its whole result; call Free on it. If ctx ends, the query is
// killed.
func (c *Conn) Query(ctx context.Context, query []byte, format string, params map[string]string) (*Result, error) {
	defer c.running.begin(query)()
	stop := c.killOnDone(ctx)
	defer stop()
	return c.raw.query(query, format, params)
}

// Stream runs one statement and calls yield with each chunk of the result, which is valid during
// the call only. If ctx ends, the query is killed. If yield fails, the query is cancelled and its
// error returned.
func (c *Conn) Stream(ctx context.Context, query []byte, format string, params map[string]string, yield func([]byte) error) error {
	defer c.running.begin(query)()
	stop := c.killOnDone(ctx)
	defer stop()
	return c.raw.stream(query, format, params, yield)
}

// killOnDone kills the connection's query when ctx ends. It repeats the KILL until stop is called,
// because the first KILL may come before the query is in system.processes. stop waits for a KILL
// that is running, so that it cannot hit the next query of the connection.
func (c *Conn) killOnDone(ctx context.Context) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	detach := context.AfterFunc(ctx, func() {
		defer close(done)
		c.running.noteKilled()
		kill := fmt.Sprintf("KILL QUERY WHERE Settings['log_comment'] = %s ASYNC", quote(c.tag))
		for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
			// An error is ignored: the next attempt follows.
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

// exec runs a statement whose result does not matter.
func (c *Conn) exec(query string) error {
	r, err := c.raw.query([]byte(query), "Null", nil)
	if err != nil {
		return err
	}
	r.Free()
	return nil
}

// text returns the result of a query as text, without its last newline.
func (c *Conn) text(query string) (string, error) {
	r, err := c.raw.query([]byte(query), "TSVRaw", nil)
	if err != nil {
		return "", err
	}
	defer r.Free()
	return strings.TrimSuffix(string(r.Bytes()), "\n"), nil
}

// join writes settings as the list of a SET statement.
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
