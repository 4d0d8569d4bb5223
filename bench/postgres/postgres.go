// Package postgres runs a PostgreSQL server as a peer of benchmarks.
//
// In: the folder of initdb and postgres. Out: a server with an empty database. Guarantees: it
// listens on a Unix socket only, and its data may be lost: nothing is synced.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Settings tune a server that this program has for itself, for two cores and data that fit
// into memory. The data need not survive a crash.
var Settings = map[string]string{
	"shared_buffers": "2GB", "effective_cache_size": "6GB", "work_mem": "256MB", "maintenance_work_mem": "1GB", "random_page_cost": "1.1", "jit": "off",
	"max_parallel_workers_per_gather": "2", "max_parallel_maintenance_workers": "2", "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
	"max_wal_size": "8GB", "autovacuum": "off", "plan_cache_mode": "force_custom_plan", "listen_addresses": "", "pg_trgm.similarity_threshold": "0.3",
}

// Server is a running server.
type Server struct {
	Pool   *pgxpool.Pool
	server *exec.Cmd
}

// Start starts a server in dir that listens only on a Unix socket. PostgreSQL refuses to run
// as root, so then the server runs as user postgres.
func Start(ctx context.Context, bin, dir string) (*Server, error) {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		owner, err := user.Lookup("postgres")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync") //nolint:gosec // the folder is the user's to name
	initdb.SysProcAttr, initdb.Dir = attributes, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	args := []string{"-D", data, "-k", dir}
	for key, value := range Settings {
		if !strings.Contains(key, ".") {
			args = append(args, "-c", key+"="+value)
		}
	}
	p := &Server{server: exec.Command(filepath.Join(bin, "postgres"), args...)} //nolint:gosec // the folder is the user's to name
	p.server.SysProcAttr, p.server.Dir = attributes, dir
	if err := p.server.Start(); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig("host=" + dir + " user=bench dbname=postgres")
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	config.MaxConns = 8
	if p.Pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	for range 300 {
		if err = p.Pool.Ping(ctx); err == nil {
			return p, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.Close()
	return nil, err
}

func (p *Server) stop() error {
	err := p.server.Process.Signal(syscall.SIGQUIT)
	_ = p.server.Wait()
	return err
}

// Close stops the server.
func (p *Server) Close() {
	p.Pool.Close()
	_ = p.stop()
}
