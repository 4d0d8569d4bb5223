package limits

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/containers"
)

// redisServer is a server in a process of its own, or in a container.
type redisServer struct {
	t    *testing.T
	port string
	args []string
	dir  string

	command   *exec.Cmd
	container *containers.Container
}

// startRedis runs redis-server, or valkey-server, until the test ends. Without one in the PATH the
// test is skipped, unless MINTLAKE_REQUIRE_REDIS=1. MINTLAKE_TEST_REDIS=container runs the image of
// docker-compose.yml instead (make test-containers). What begins with no dash is a configuration
// file.
func startRedis(t *testing.T, port string, args ...string) *redisServer {
	t.Helper()
	s := &redisServer{t: t, port: port, dir: t.TempDir()}
	var files []string
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		files, args = append(files, args[0]), args[1:]
	}
	s.args = append(files, "--port", port, "--bind", "127.0.0.1", "--dir", s.dir)
	if len(files) == 0 {
		s.args = append(s.args, "--save", "", "--appendonly", "no")
	}
	s.args = append(s.args, args...)
	s.start()
	return s
}

func (s *redisServer) start() {
	s.t.Helper()
	switch {
	case os.Getenv("MINTLAKE_TEST_REDIS") != "container":
		s.startProcess()
	case s.container != nil:
		s.container.Start()
	default:
		// Servers of a cluster and Sentinels tell each other their addresses, so they share this
		// machine's network. All files of a test lie below one folder.
		s.container = containers.Run(s.t, containers.Spec{
			Image: "valkey/valkey", Entrypoint: []string{"valkey-server"}, Command: s.args, HostNetwork: true,
			User: fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), Folders: []string{filepath.Dir(s.dir)},
		})
	}
	require.Eventually(s.t, func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+s.listenPort())
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	}, hang, 5*time.Millisecond)
}

func (s *redisServer) startProcess() {
	s.t.Helper()
	var path string
	for _, name := range []string{"redis-server", "valkey-server"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("MINTLAKE_REQUIRE_REDIS") == "1" {
			s.t.Fatal("neither redis-server nor valkey-server is installed, and MINTLAKE_REQUIRE_REDIS=1")
		}
		s.t.Skip("neither redis-server nor valkey-server is installed")
	}
	s.command = exec.Command(path, s.args...)
	require.NoError(s.t, s.command.Start())
	s.t.Cleanup(s.kill)
}

// listenPort is the port of TLS where there is one.
func (s *redisServer) listenPort() string { return s.option("--tls-port", s.port) }

// busPort is the port through which servers of a cluster speak to each other.
func (s *redisServer) busPort() string { return s.option("--cluster-port", "") }

func (s *redisServer) option(name, otherwise string) string {
	if i := slices.Index(s.args, name); i >= 0 {
		return s.args[i+1]
	}
	return otherwise
}

// kill ends the server as kill -9 does.
func (s *redisServer) kill() {
	if s.container != nil {
		s.container.Kill()
		return
	}
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
}

// freeze lets the server take connections and answer nothing, until thaw.
func (s *redisServer) freeze() {
	s.t.Helper()
	if s.container != nil {
		s.container.Pause()
		return
	}
	require.NoError(s.t, s.command.Process.Signal(syscall.SIGSTOP))
}

func (s *redisServer) thaw() {
	s.t.Helper()
	if s.container != nil {
		s.container.Resume()
		return
	}
	require.NoError(s.t, s.command.Process.Signal(syscall.SIGCONT))
}

// realRedis starts a server of its own.
func realRedis(t *testing.T) (url string, server *redisServer) {
	t.Helper()
	s := startRedis(t, freePort(t))
	return "redis://127.0.0.1:" + s.port, s
}
