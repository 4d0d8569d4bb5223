// Command clickhouse-standin stands in for the official ClickHouse image in tests on machines
// without an image registry.
//
// In: the variables CLICKHOUSE_USER and CLICKHOUSE_PASSWORD, libchdb, /var/lib/clickhouse. Out:
// ClickHouse's HTTP interface on port 8123. It is Mintlake's embedded engine, which listens on
// loopback as always, and a proxy for the other containers. It proves nothing of a server's own
// users, of clusters, or of the native protocol.
package main

import (
	"context"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
)

const (
	listenAddr = "0.0.0.0:8123"
	engineAddr = "127.0.0.1:18123"
	dataFolder = "/var/lib/clickhouse"
)

func main() {
	chengine.MaybeRunChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "clickhouse-standin:", err)
		os.Exit(1) //nolint:gocritic // stop only gives signals back
	}
}

func run(ctx context.Context) error {
	engine, err := chengine.New(chengine.Config{
		DataDir: filepath.Join(dataFolder, "data"), Addr: engineAddr, MaxMemoryBytes: 2 << 30,
	}, chengine.Deps{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return fmt.Errorf("make the engine: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- engine.Run(ctx) }()
	if err := engine.WaitReady(ctx); err != nil {
		return fmt.Errorf("start the engine: %w", err)
	}
	server := &http.Server{Addr: listenAddr, Handler: proxy(os.Getenv("CLICKHOUSE_USER"), os.Getenv("CLICKHOUSE_PASSWORD")), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.ListenAndServe(); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "clickhouse-standin:", err)
			os.Exit(1)
		}
	}()
	return <-done
}

// proxy requires the user and password that the official image's variables name. It passes requests
// on without them, because the engine has only one user.
func proxy(user, password string) http.Handler {
	if user == "" {
		user = "default"
	}
	target := &url.URL{Scheme: "http", Host: engineAddr}
	pass := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = engineAddr
			for _, name := range []string{"Authorization", "X-ClickHouse-User", "X-ClickHouse-Key"} {
				r.Out.Header.Del(name)
			}
			query := r.Out.URL.Query()
			query.Del("user")
			query.Del("password")
			r.Out.URL.RawQuery = query.Encode()
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gotUser, gotPassword := credentials(r)
		if gotUser == "" {
			gotUser = "default"
		}
		if r.URL.Path != "/ping" && (gotUser != user || subtle.ConstantTimeCompare([]byte(gotPassword), []byte(password)) != 1) {
			w.Header().Set("X-ClickHouse-Exception-Code", "516")
			http.Error(w, "Code: 516. DB::Exception: "+gotUser+": Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)", http.StatusForbidden)
			return
		}
		pass.ServeHTTP(w, r)
	})
}

func credentials(r *http.Request) (user, password string) {
	if user, password, ok := r.BasicAuth(); ok {
		return user, password
	}
	if user := r.Header.Get("X-ClickHouse-User"); user != "" {
		return user, r.Header.Get("X-ClickHouse-Key")
	}
	query := r.URL.Query()
	return query.Get("user"), query.Get("password")
}
