package chengine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// The reasons why the engine does not start. Each is wrapped in one line that says what is wrong,
// where, and what to do.
var (
	// ErrLibraryMissing: libchdb.so is not there.
	ErrLibraryMissing = errors.New("libchdb is missing")
	// ErrUnsupported: no libchdb exists for this platform.
	ErrUnsupported = errors.New("the embedded ClickHouse engine runs on Linux amd64 with glibc only")
	// ErrLocked: another process uses the data directory.
	ErrLocked = errors.New("data directory is in use")
	// ErrForeignDirectory: the data directory has files that are not ours.
	ErrForeignDirectory = errors.New("data directory is not Mintlake's")
	// ErrNewerData: the data directory was written by a newer engine.
	ErrNewerData = errors.New("data directory is of a newer version")
	// ErrPortTaken: another process listens on the address.
	ErrPortTaken = errors.New("address is taken")
)

// StartError says that the engine's process did not become ready.
type StartError struct {
	// DataDir is the engine's data directory.
	DataDir string
	// Attempts is how many starts in a row failed.
	Attempts int
	// Reason says how the last attempt ended: the exit status, or that it took too long.
	Reason string
	// Stderr is the engine's line that explains it best; empty if it wrote none.
	Stderr string
}

// Error implements error, in one line.
func (e *StartError) Error() string {
	text := fmt.Sprintf("embedded clickhouse did not start in %d attempts on %s: %s", e.Attempts, e.DataDir, e.Reason)
	if e.Stderr != "" {
		text += ": " + e.Stderr
	}
	return text + " (if that names a file, it is damaged: move the directory away and run `mintlake rebuild`; docs/embedded-clickhouse.md has the known causes)"
}

// listen opens the socket. All children, one after the other, accept connections from it.
func listen(addr string) (*net.TCPListener, error) {
	listener, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("embedded clickhouse: %w: another process listens on %s: end it, or choose another --clickhouse-addr (127.0.0.1:0 takes a free port)", ErrPortTaken, addr)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("embedded clickhouse: no permission to listen on %s: choose a port above 1023 with --clickhouse-addr: %w", addr, err)
	case err != nil:
		return nil, fmt.Errorf("embedded clickhouse: listen on %s: %w", addr, err)
	}
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("embedded clickhouse: listener on %s is a %T", addr, listener)
	}
	return tcp, nil
}
