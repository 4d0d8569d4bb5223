package kit

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	dockernetwork "github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// TestKafka runs the suite of internal/kafka with a container for each broker. Among others: one
// broker with TLS and SCRAM, and what is said of a wrong authority, a wrong password and an expired
// certificate; three brokers, of which the leader of a partition is killed under load.
func TestKafka(t *testing.T) {
	k := newKit(t)
	ran := k.suite(t, []string{"MINTLAKE_TEST_KAFKA=container"}, "./internal/kafka/...")
	for _, name := range []string{"TestSecurityOfApacheKafka", "TestKilledLeaderOfThreeBrokers", "TestBrokerRestartsLoseNothing"} {
		if !slices.Contains(ran, name) {
			t.Errorf("%s did not run", name)
		}
	}
}

// TestRedis runs the suite of the shared limits: a single server, Sentinel with a killed master, a
// cluster with a killed member, TLS.
func TestRedis(t *testing.T) {
	k := newKit(t)
	k.suite(t, []string{"MINTLAKE_TEST_REDIS=container"}, "./access/limits")
}

// TestClickHouse runs what speaks to ClickHouse, over HTTP. The name of the subtest tells which
// server that is.
func TestClickHouse(t *testing.T) {
	k := newKit(t)
	t.Run(k.whichClickHouse(t), func(t *testing.T) {
		server := k.clickhouse(t)
		env := []string{"MINTLAKE_TEST_CLICKHOUSE=" + server}
		k.suite(t, env, "-run=^("+strings.Join([]string{
			"TestProjectorShapes", "TestWideVersionColumns", "TestViewOverFinalPushesFilter", "TestErrorsAreTyped", "TestErrorMidStream", "TestCompression",
			"TestEmptyResultsAndInserts", "TestAsyncInsert", "TestSettingsStayWithTheirRequest", "TestCancel",
		}, "|")+")$", "./embedded/clickhouse")
		k.suite(t, env, "./internal/clickhouse", "./schemas/clickhouse", "./projector/...", "./volume", "./api/history", "./replica", "./enrich/audit")
		requireAsked(t, server)
	})
}

// TestEndToEnd runs the rooms as processes over Apache Kafka and ClickHouse in containers: rooms
// and brokers are killed under load, and what is written must be what one process writes.
func TestEndToEnd(t *testing.T) {
	k := newKit(t)
	t.Run(k.whichClickHouse(t), func(t *testing.T) {
		server := k.clickhouse(t)
		k.suite(t, []string{"MINTLAKE_TEST_KAFKA=container", "MINTLAKE_TEST_CLICKHOUSE=" + server}, "-run=^(TestRoomsOverThreeBrokers|TestStandby|TestScaleOut)$", "./e2e")
		requireAsked(t, server)
	})
}

// suite runs tests of the main module and returns the names of those that passed. Tests that skip
// are told.
func (k *kit) suite(t *testing.T, env []string, args ...string) (passed []string) {
	t.Helper()
	start := time.Now()
	command := exec.CommandContext(t.Context(), "go", append([]string{"test", "-json", "-count=1", "-p=1", "-timeout=40m"}, args...)...)
	command.Dir = root
	command.Env = append(append(os.Environ(), "MINTLAKE_TEST_CONTAINERS="+k.server.URL), env...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	passed, skipped := read(t, output)
	if err := command.Wait(); err != nil {
		t.Errorf("go test %s: %v", strings.Join(args, " "), err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t.Logf("%d tests passed in %s, %d containers so far", len(passed), time.Since(start).Round(time.Second), k.started)
	for _, name := range skipped {
		t.Logf("skipped: %s", name)
	}
	if len(passed) == 0 || k.started == 0 {
		t.Error("no test passed, or none asked for a container")
	}
	return passed
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// read returns the names of tests at the top that passed and skipped. It prints what failing ones
// have said.
func read(t *testing.T, output io.Reader) (passed, skipped []string) {
	t.Helper()
	said := map[string]*strings.Builder{}
	scanner := bufio.NewScanner(output)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var e event
		if json.Unmarshal(scanner.Bytes(), &e) != nil {
			t.Log(scanner.Text())
			continue
		}
		test, _, sub := strings.Cut(e.Test, "/")
		key := e.Package + " " + test
		if said[key] == nil {
			said[key] = &strings.Builder{}
		}
		said[key].WriteString(e.Output)
		switch {
		case e.Action == "fail" && !sub:
			t.Errorf("%s failed\n%s", key, said[key])
		case e.Action == "pass" && !sub && test != "":
			passed = append(passed, test)
		case e.Action == "skip" && test != "":
			skipped = append(skipped, e.Package+" "+e.Test)
		}
		if e.Action == "build-output" {
			t.Log(strings.TrimSpace(e.Output))
		}
		if testing.Verbose() && !sub && test != "" && (e.Action == "run" || e.Action == "pass") {
			os.Stderr.WriteString("kit: " + e.Action + " " + key + "\n")
		}
	}
	if err := scanner.Err(); err != nil {
		t.Errorf("read what go test says: %v", err)
	}
	return passed, skipped
}

const clickhouseRepository = "clickhouse/clickhouse-server"

// whichClickHouse tells what the image is: the official server, or the stand-in, which is our
// embedded engine.
func (k *kit) whichClickHouse(t *testing.T) string {
	t.Helper()
	name, err := image(clickhouseRepository)
	if err != nil {
		t.Fatal(err)
	}
	found, err := k.docker.ImageInspect(t.Context(), name)
	if err == nil && found.Config != nil && found.Config.Labels["mintlake.standin"] != "" {
		return "StandInIsOurEmbeddedEngineBehindItsOwnPort"
	}
	return "Server"
}

// clickhouse starts a server until the test ends and returns its address.
func (k *kit) clickhouse(t *testing.T) string {
	t.Helper()
	name, err := image(clickhouseRepository)
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	c, err := testcontainers.Run(t.Context(), name,
		testcontainers.WithEnv(map[string]string{"CLICKHOUSE_SKIP_USER_SETUP": "1"}),
		testcontainers.WithLabels(map[string]string{label: "1"}),
		testcontainers.WithExposedPorts("8123/tcp"),
		testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
			h.PortBindings = dockernetwork.PortMap{dockernetwork.MustParsePort("8123/tcp"): {{HostIP: loopback, HostPort: address[strings.LastIndexByte(address, ':')+1:]}}}
		}),
	)
	testcontainers.CleanupContainer(t, c, testcontainers.StopTimeout(0))
	if err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	k.mu.Lock()
	k.started++
	k.mu.Unlock()
	for deadline := time.Now().Add(3 * time.Minute); !answers("http://" + address + "/ping"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer at %s", name, address)
		}
	}
	return "http://" + address
}

func answers(url string) bool {
	response, err := http.Get(url)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// requireAsked fails a suite that did not use the server: its own answer to how many queries it has
// had.
func requireAsked(t *testing.T, server string) {
	t.Helper()
	response, err := http.Post(server, "text/plain", strings.NewReader("SELECT value FROM system.events WHERE event = 'Query'"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	queries, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || queries < 100 {
		t.Errorf("the server had %q queries, 100 or more are expected", text)
	}
	t.Logf("%d queries", queries)
}

// TestNothingIsLeft runs last: what the kit has started is gone. The engine may still be removing
// what was removed last.
func TestNothingIsLeft(t *testing.T) {
	docker, err := testcontainers.NewDockerClientWithOpts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = docker.Close() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		left, err := docker.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", label+"=1")})
		if err != nil {
			t.Fatal(err)
		}
		if len(left.Items) == 0 {
			return
		}
		if time.Now().Before(deadline) {
			continue
		}
		for _, c := range left.Items {
			t.Errorf("container %s (%s, %s) is left", c.ID, c.Image, c.Status)
		}
		return
	}
}
