package limits

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/mintlake/mintlake/internal/tlsclient"
)

// Redis is where limits are shared: one server, a master that Sentinels name, or a cluster. Exactly
// one of the three is set.
type Redis struct {
	single   *redis.Options
	failover *redis.FailoverOptions
	cluster  *redis.ClusterOptions
}

// errRedisURL does not repeat the URL: it may hold a password.
var errRedisURL = errors.New("must be redis://[user:password@]host:port[/db], or rediss:// for TLS; with ?master_name=NAME&addr=HOST:PORT for Sentinels, " +
	"with ?cluster=true&addr=HOST:PORT for a cluster")

// ParseRedis reads the URL of one server, of Sentinels, or of a cluster. addr may be repeated:
//
//	redis://[user:password@]host:port[/db]
//	redis://[user:password@]sentinel:port[/db]?master_name=NAME&addr=sentinel:port
//	redis://[user:password@]node:port?cluster=true&addr=node:port
//
// rediss:// uses TLS, with the system's authorities or those of caFile. User and password are those
// of the servers that hold the data; Sentinels have sentinel_username and sentinel_password.
func ParseRedis(raw, caFile string) (*Redis, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errRedisURL
	}
	query := u.Query()
	inCluster := query.Get("cluster")
	query.Del("cluster")
	sentinelUser, sentinelPassword := query.Get("sentinel_username"), query.Get("sentinel_password")
	if query.Has("master_name") {
		query.Del("sentinel_username")
		query.Del("sentinel_password")
	}
	u.RawQuery = query.Encode()
	r := &Redis{}
	switch {
	case query.Has("master_name") && inCluster == "":
		if r.failover, err = redis.ParseFailoverURL(u.String()); err == nil {
			// go-redis would use the login before the @ for the Sentinels.
			r.failover.Username = u.User.Username()
			r.failover.Password, _ = u.User.Password()
			r.failover.SentinelUsername, r.failover.SentinelPassword = sentinelUser, sentinelPassword
			err = setCA(&r.failover.TLSConfig, caFile)
		}
	case inCluster == "true" && strings.Trim(u.Path, "/") == "": // a cluster has one database
		if r.cluster, err = redis.ParseClusterURL(u.String()); err == nil {
			err = setCA(&r.cluster.TLSConfig, caFile)
		}
	case inCluster == "":
		if r.single, err = redis.ParseURL(u.String()); err == nil {
			err = setCA(&r.single.TLSConfig, caFile)
		}
	default:
		err = errRedisURL
	}
	var file *caError
	switch {
	case errors.As(err, &file):
		return nil, file
	case err != nil:
		return nil, errRedisURL
	}
	return r, nil
}

// caError is an error of the CA file. It holds nothing of the URL.
type caError struct{ err error }

func (e *caError) Error() string { return e.err.Error() }

func (e *caError) Unwrap() error { return e.err }

// setCA makes the client trust the authorities in the file instead of the system's.
func setCA(config **tls.Config, caFile string) error {
	if caFile == "" {
		return nil
	}
	if *config == nil {
		return &caError{errors.New("rate_limits.shared_ca_file: the URL speaks plain text: it must begin with rediss://")}
	}
	trusted, err := tlsclient.Files{CA: caFile}.Load("rate_limits.shared_")
	if err != nil {
		return &caError{err}
	}
	(*config).RootCAs = trusted.RootCAs
	return nil
}

// open makes the client; it does no I/O. Commands are not retried, because the local limiter
// decides if Redis does not. Protocol 2 is used, without the client's identity and maintenance
// notifications: these need commands that Valkey and old servers do not know.
func (r *Redis) open(timeout time.Duration) redis.UniversalClient {
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch {
	case r.failover != nil:
		o := r.failover
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.Protocol, o.DisableIdentity = true, -1, 1, 2, true
		return redis.NewFailoverClient(o)
	case r.cluster != nil:
		o := r.cluster
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.Protocol, o.DisableIdentity, o.MaintNotificationsConfig = true, -1, 1, 2, true, quiet
		return redis.NewClusterClient(o)
	default:
		o := r.single
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
		o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries, o.Protocol, o.DisableIdentity, o.MaintNotificationsConfig = true, -1, 1, 2, true, quiet
		return redis.NewClient(o)
	}
}

// pingMasters pings each master of a cluster. Without a cluster it does nothing. If one master is
// down, the first request of a client whose windows are there would turn sharing off again.
func pingMasters(ctx context.Context, client redis.UniversalClient) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return nil
	}
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error { return master.Ping(ctx).Err() })
	if err != nil {
		return fmt.Errorf("ask each master: %w", err)
	}
	return nil
}
