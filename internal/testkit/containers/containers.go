// Package containers runs servers in containers for tests.
//
// In: a test, and MINTLAKE_TEST_CONTAINERS: the address of the helper server in
// tools/containers/kit (the kit), which `make test-containers` runs.
// Out: a container with the ports that the test asks for.
// Guarantees: the container is removed when the test ends; the kit removes what a killed test
// binary leaves. A container that does not start fails the test. The container engine's libraries
// are only in the kit's own Go module.
package containers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"
)

// Env names the kit's address: http://127.0.0.1:PORT.
const Env = "MINTLAKE_TEST_CONTAINERS"

// patience bounds one request to the kit: on a busy machine the container engine may need minutes.
const patience = 5 * time.Minute

// Spec is a container. Its JSON is what the kit reads.
type Spec struct {
	// Image is the name of an image in docker-compose.yml, such as apache/kafka. The kit adds the
	// tag that is written there.
	Image string
	// Entrypoint and Command replace those of the image, unless they are empty.
	Entrypoint, Command []string
	// User is uid:gid; empty means the image's.
	User string
	Env  map[string]string
	// Files are the contents of files by their path in the container. Every user there can read
	// them.
	Files map[string][]byte
	// Folders are folders of this machine that the container sees under the same path.
	Folders []string
	// Ports are published on 127.0.0.1 under the same number.
	Ports []int
	// HostNetwork shares this machine's network instead of publishing ports.
	HostNetwork bool
	// Network is the name that NewNetwork returned. Containers in it reach each other by Name.
	Network, Name string
}

// Container is a running container.
type Container struct {
	t  testing.TB
	id string
}

// Enabled reports whether tests run against containers.
func Enabled() bool { return os.Getenv(Env) != "" }

// Run starts a container, which is removed when the test ends. It returns when the container runs,
// which is before its server answers.
func Run(t testing.TB, spec Spec) *Container {
	t.Helper()
	c := &Container{t: t}
	c.id = string(c.ask(http.MethodPost, "/containers", spec))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the log of container %s:\n%s", spec.Image, c.Log())
		}
		c.ask(http.MethodDelete, "/containers/"+c.id, nil)
	})
	return c
}

// NewNetwork makes a network for the containers of one test and returns its name.
func NewNetwork(t testing.TB) string {
	t.Helper()
	return string((&Container{t: t}).ask(http.MethodPost, "/networks", nil))
}

// Start runs a container again that was stopped or killed, with its data and ports.
func (c *Container) Start() { c.do("start") }

// Stop stops the container gracefully.
func (c *Container) Stop() { c.do("stop") }

// Kill kills the container, as kill -9 does.
func (c *Container) Kill() { c.do("kill") }

// Pause freezes the container until Resume.
func (c *Container) Pause() { c.do("pause") }

// Resume ends a Pause.
func (c *Container) Resume() { c.do("unpause") }

// Log returns the end of what the container has printed, 8 KiB at most.
func (c *Container) Log() string {
	text := c.ask(http.MethodGet, "/containers/"+c.id+"/log", nil)
	return string(text[max(0, len(text)-8<<10):])
}

func (c *Container) do(verb string) {
	c.t.Helper()
	c.ask(http.MethodPost, "/containers/"+c.id+"/"+verb, nil)
}

// ask sends a request to the kit. If it fails, the test fails with the kit's reason.
func (c *Container) ask(method, path string, spec any) []byte {
	c.t.Helper()
	if !Enabled() {
		c.t.Fatalf("%s is not set: run make test-containers", Env)
	}
	body, err := json.Marshal(spec)
	if err != nil {
		c.t.Fatalf("containers: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, os.Getenv(Env)+path, bytes.NewReader(body)) //nolint:gosec // named by who runs the tests
	if err != nil {
		c.t.Fatalf("containers: %v", err)
	}
	answer, status, err := send(request)
	if err != nil {
		c.t.Fatalf("containers: %s %s: %v", method, path, err)
	}
	if status != http.StatusOK {
		c.t.Fatalf("containers: %s %s: %s", method, path, answer)
	}
	return answer
}

func send(request *http.Request) (answer []byte, status int, err error) {
	response, err := http.DefaultClient.Do(request) //nolint:gosec // to the kit
	if err != nil {
		return nil, 0, fmt.Errorf("ask the kit: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		return nil, 0, fmt.Errorf("read the kit's answer: %w", err)
	}
	return answer, response.StatusCode, nil
}
