package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	dockernetwork "github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/network"
)

// root is the repository.
const root = "../../.."

// label marks what belongs to a run of the kit, so that the script can remove what a crash leaves.
const label = "mintlake.kit"

// loopback is where every port is published.
var loopback = netip.MustParseAddr("127.0.0.1")

// spec is a container that a test asks for: internal/testkit/containers tells of each field.
type spec struct {
	Image               string
	Entrypoint, Command []string
	User                string
	Env                 map[string]string
	Files               map[string][]byte
	Folders             []string
	Ports               []int
	HostNetwork         bool
	Network, Name       string
}

// kit starts and ends containers for the suites.
type kit struct {
	docker *testcontainers.DockerClient
	server *httptest.Server

	mu         sync.Mutex
	started    int // containers since the kit began
	containers map[string]*testcontainers.DockerContainer
	networks   []*testcontainers.DockerNetwork
}

// newKit serves until the test ends. Then it removes every container and network that is left.
func newKit(t *testing.T) *kit {
	t.Helper()
	log.SetDefault(log.NewNoopLogger()) // it tells of each container six times
	docker, err := testcontainers.NewDockerClientWithOpts(t.Context())
	if err != nil {
		t.Fatalf("kit: %v", err)
	}
	k := &kit{docker: docker, containers: map[string]*testcontainers.DockerContainer{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /containers", answer(k.run))
	mux.HandleFunc("POST /containers/{id}/{verb}", answer(k.do))
	mux.HandleFunc("GET /containers/{id}/log", answer(k.log))
	mux.HandleFunc("DELETE /containers/{id}", answer(k.remove))
	mux.HandleFunc("POST /networks", answer(k.network))
	k.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		k.server.Close()
		if err := k.close(); err != nil {
			t.Errorf("kit: remove what is left: %v", err)
		}
	})
	return k
}

// answer turns a function into a handler: its text with 200, its error with 500.
func answer(f func(r *http.Request) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := f(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, text)
	}
}

// image adds the tag that docker-compose.yml has.
func image(repository string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`(?m)^ *image: (` + regexp.QuoteMeta(repository) + `:\S+)$`).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("docker-compose.yml has no image %s", repository)
	}
	return string(found[1]), nil
}

func (k *kit) run(r *http.Request) (string, error) {
	var s spec
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return "", fmt.Errorf("read the spec: %w", err)
	}
	c, err := k.start(r.Context(), s)
	if err != nil {
		return "", err
	}
	return c.GetContainerID(), nil
}

// start runs a container. One that does not start is removed.
func (k *kit) start(ctx context.Context, s spec) (*testcontainers.DockerContainer, error) {
	name, err := image(s.Image)
	if err != nil {
		return nil, err
	}
	options := []testcontainers.ContainerCustomizer{
		testcontainers.WithEnv(s.Env),
		testcontainers.WithLabels(map[string]string{label: "1"}),
		testcontainers.WithConfigModifier(func(c *container.Config) { c.User = s.User }),
		testcontainers.WithHostConfigModifier(s.host),
	}
	var ports []string
	for _, port := range s.Ports {
		ports = append(ports, strconv.Itoa(port)+"/tcp")
	}
	options = append(options, testcontainers.WithExposedPorts(ports...))
	for path, content := range s.Files {
		options = append(options, testcontainers.WithFiles(testcontainers.ContainerFile{Reader: bytes.NewReader(content), ContainerFilePath: path, FileMode: 0o644}))
	}
	if len(s.Entrypoint) > 0 {
		options = append(options, testcontainers.WithEntrypoint(s.Entrypoint...))
	}
	if len(s.Command) > 0 {
		options = append(options, testcontainers.WithCmd(s.Command...))
	}
	if s.Network != "" {
		options = append(options, network.WithNetworkName([]string{s.Name}, s.Network))
	}
	c, err := testcontainers.Run(ctx, name, options...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), testcontainers.TerminateContainer(c))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.started++
	k.containers[c.GetContainerID()] = c
	return c, nil
}

// host is what of a container belongs to this machine.
func (s spec) host(c *container.HostConfig) {
	for _, folder := range s.Folders {
		c.Binds = append(c.Binds, folder+":"+folder)
	}
	if s.HostNetwork {
		c.NetworkMode = "host"
	}
	c.PortBindings = dockernetwork.PortMap{}
	for _, port := range s.Ports {
		number := strconv.Itoa(port)
		c.PortBindings[dockernetwork.MustParsePort(number+"/tcp")] = []dockernetwork.PortBinding{{HostIP: loopback, HostPort: number}}
	}
}

func (k *kit) find(r *http.Request) (*testcontainers.DockerContainer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.containers[r.PathValue("id")]
	if c == nil {
		return nil, fmt.Errorf("there is no container %s", r.PathValue("id"))
	}
	return c, nil
}

// do starts a container again, or ends it in one of the ways that testcontainers-go has, or the
// Docker client below it.
func (k *kit) do(r *http.Request) (string, error) {
	c, err := k.find(r)
	if err != nil {
		return "", err
	}
	id := c.GetContainerID()
	switch verb := r.PathValue("verb"); verb {
	case "start":
		err = c.Start(r.Context())
	case "stop":
		patience := 2 * time.Minute
		err = c.Stop(r.Context(), &patience)
	case "kill":
		_, err = k.docker.ContainerKill(r.Context(), id, client.ContainerKillOptions{Signal: "KILL"})
		if err == nil {
			err = k.awaitEnd(r.Context(), c)
		}
	case "pause":
		_, err = k.docker.ContainerPause(r.Context(), id, client.ContainerPauseOptions{})
	case "unpause":
		_, err = k.docker.ContainerUnpause(r.Context(), id, client.ContainerUnpauseOptions{})
	default:
		err = fmt.Errorf("there is no way to %s a container", verb)
	}
	return "", err
}

// awaitEnd waits until a killed container is gone: the engine answers before that.
func (k *kit) awaitEnd(ctx context.Context, c *testcontainers.DockerContainer) error {
	for {
		state, err := c.State(ctx)
		if err != nil || !state.Running {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (k *kit) log(r *http.Request) (string, error) {
	c, err := k.find(r)
	if err != nil {
		return "", err
	}
	reader, err := c.Logs(r.Context())
	if err != nil {
		return "", err
	}
	defer func() { _ = reader.Close() }()
	text, err := io.ReadAll(reader)
	return string(text), err
}

func (k *kit) remove(r *http.Request) (string, error) {
	c, err := k.find(r)
	if err != nil {
		return "", err
	}
	return "", k.end(c)
}

// end kills and removes a container with its volumes. A caller that went away does not stop that.
func (k *kit) end(c *testcontainers.DockerContainer) error {
	k.mu.Lock()
	delete(k.containers, c.GetContainerID())
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if state, err := c.State(ctx); err == nil && state.Paused {
		_, _ = k.docker.ContainerUnpause(ctx, c.GetContainerID(), client.ContainerUnpauseOptions{})
	}
	return testcontainers.TerminateContainer(c, testcontainers.StopContext(ctx), testcontainers.StopTimeout(0))
}

func (k *kit) network(r *http.Request) (string, error) {
	n, err := network.New(r.Context(), network.WithLabels(map[string]string{label: "1"}))
	if err != nil {
		return "", fmt.Errorf("make a network: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.networks = append(k.networks, n)
	return n.Name, nil
}

// close removes what tests that were killed have left, and the networks.
func (k *kit) close() error {
	k.mu.Lock()
	var left []*testcontainers.DockerContainer
	for _, c := range k.containers {
		left = append(left, c)
	}
	k.mu.Unlock()
	var errs []error
	for _, c := range left {
		errs = append(errs, k.end(c))
	}
	for _, n := range k.networks {
		errs = append(errs, n.Remove(context.Background()))
	}
	return errors.Join(append(errs, k.docker.Close())...)
}
