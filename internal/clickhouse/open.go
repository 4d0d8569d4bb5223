// Package clickhouse is how every room reaches ClickHouse: connections, migrations, the check of
// columns, and the decision which errors are retried.
//
// In: a data source name, numbered SQL files, the columns that a writer writes. Out: a driver.Conn,
// a database in the shape that the files describe, one-line errors. Guarantees: the same code
// serves the embedded engine (http) and ClickHouse servers (native); each migration is applied in
// order, and one that was killed is repeated by the next run; passwords never get into errors.
package clickhouse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Defaults of Open where the data source name says nothing.
const (
	// DefaultDialTimeout is how long a connection may take to open, and how long a query waits for
	// a free connection of the pool.
	DefaultDialTimeout = 10 * time.Second
	// DefaultReadTimeout is how long the server may be silent during a query.
	DefaultReadTimeout = 2 * time.Minute
	// DefaultMaxOpenConns is the number of queries that the embedded engine runs at once: further
	// ones would wait there.
	DefaultMaxOpenConns = 8
	// DefaultConnMaxLifetime closes old connections, so that clients move to new servers behind a
	// load balancer.
	DefaultConnMaxLifetime = 30 * time.Minute
)

// Option changes what Open opens.
type Option func(*options)

// WithDatabase uses this database instead of the one in the data source name. To migrate a database
// that may not exist yet, open "default".
func WithDatabase(name string) Option { return func(o *options) { o.driver.Auth.Database = name } }

// WithReadTimeout changes how long the server may be silent during a query. Over HTTP nothing
// arrives before the first row of a result, so a long INSERT … SELECT or a mutation needs more than
// the default.
func WithReadTimeout(d time.Duration) Option { return func(o *options) { o.driver.ReadTimeout = d } }

// Open connects to dsn and pings it once. dsn is clickhouse://[user:password@]host:9000/database?…
// (native) or http://host:8123/database?…. A parameter in dsn wins over the defaults of this
// package, an option over both. There is always a timeout.
//
// https:// and clickhouse://…?secure=true use TLS. dsn may name several hosts, host:port,host:port.
// The first host that answers is used.
func Open(ctx context.Context, dsn string, opts ...Option) (driver.Conn, error) {
	o, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	all := &options{driver: o, access: NewAccess(AccessConfig{}, nil)}
	for _, option := range opts {
		option(all)
	}
	if err := all.access.apply(o); err != nil {
		return nil, err
	}
	o.DialStrategy = all.access.hosts.dial
	conn, err := ch.Open(o)
	if err != nil {
		return nil, fmt.Errorf("open clickhouse %s: %w", o.Addr, err)
	}
	if err := conn.Ping(ctx); err != nil {
		_ = conn.Close() // the ping's error matters
		var withNames *hostsError
		if errors.As(err, &withNames) { // it names the hosts itself
			return nil, fmt.Errorf("connect: %w", err)
		}
		return nil, fmt.Errorf("connect to clickhouse %s: %w", o.Addr, err)
	}
	if all.writeLimit > 0 {
		conn = &limited{Conn: conn, limit: all.writeLimit}
	}
	return conn, nil
}

// parseDSN parses a data source name and fills in the defaults.
func parseDSN(dsn string) (*ch.Options, error) {
	var o *ch.Options
	var err error
	switch scheme, _, _ := strings.Cut(dsn, "://"); scheme {
	case "clickhouse", "http", "https": // clickhouse-go takes other schemes for its native protocol
		o, err = ch.ParseDSN(secureDSN(dsn))
	default:
		err = errors.New("unknown scheme")
	}
	if err != nil {
		// url.Error contains the whole data source name, with the password.
		var urlErr *url.Error
		if errors.As(err, &urlErr) {
			err = urlErr.Err
		}
		return nil, fmt.Errorf("clickhouse dsn: %w: the form is clickhouse://user:password@host:9000/database or http://host:8123/database, and with TLS "+
			"clickhouse://…:9440/database?secure=true or https://…:8443/database", err)
	}
	withPorts(o)
	o.DialTimeout = cmp.Or(o.DialTimeout, DefaultDialTimeout)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, DefaultReadTimeout)
	o.MaxOpenConns = cmp.Or(o.MaxOpenConns, DefaultMaxOpenConns)
	o.MaxIdleConns = cmp.Or(o.MaxIdleConns, max(1, o.MaxOpenConns/2))
	o.ConnMaxLifetime = cmp.Or(o.ConnMaxLifetime, DefaultConnMaxLifetime)
	if o.Compression == nil && o.Protocol == ch.Native {
		o.Compression = &ch.Compression{Method: ch.CompressionLZ4}
	}
	return o, nil
}

// Database returns the database that dsn names, "default" when it names none.
func Database(dsn string) (string, error) {
	o, err := parseDSN(dsn)
	if err != nil {
		return "", err
	}
	if o.Auth.Database == "" {
		return "default", nil
	}
	return o.Auth.Database, nil
}
