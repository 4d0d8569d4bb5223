package kafkatest

import (
	"path/filepath"
	"testing"

	"github.com/mintlake/mintlake/internal/testkit"
)

// runner runs a broker outside the test binary: in a process or in a container.
type runner interface {
	Start()
	Stop()
	Kill()
	Pause()
	Resume()
}

// Broker is a broker outside the test binary. A test can stop, kill and start it again with the
// same data and address.
type Broker struct {
	t      testing.TB
	addr   string
	runner runner
}

// StartBroker runs a broker in a process or container of its own until the test ends.
func StartBroker(t testing.TB) *Broker {
	t.Helper()
	b := &Broker{t: t, addr: testkit.FreeAddr(t)}
	if Apache(t) {
		b.runner = runApache(t, apacheNode{id: 1, addr: b.addr})
	} else {
		dir := t.TempDir()
		binary := filepath.Join(dir, "brokerd")
		run(t, testkit.Root(t), "go", "build", "-o", binary, "./internal/testkit/kafkatest/brokerd")
		b.runner = newProcess(t, dir, []string{binary, filepath.Join(dir, "data"), b.addr})
	}
	waitAnswer(t, b.addr)
	return b
}

// StartBrokers runs a cluster of Apache Kafka until the test ends, with count nodes. Each is broker
// and controller.
func StartBrokers(t testing.TB, count int) []*Broker {
	t.Helper()
	if !Apache(t) {
		t.Fatal("the embedded broker has no clusters")
	}
	nodes := apacheCluster(t, count)
	brokers := make([]*Broker, count)
	for i, node := range nodes {
		brokers[i] = &Broker{t: t, addr: node.addr, runner: runApache(t, node)}
	}
	for _, b := range brokers {
		waitAnswer(t, b.addr)
	}
	return brokers
}

// Brokers returns the addresses to connect to. They stay the same over restarts.
func (b *Broker) Brokers() []string { return []string{b.addr} }

// Start runs a stopped or killed broker again and returns when it answers.
func (b *Broker) Start() {
	b.t.Helper()
	b.runner.Start()
	waitAnswer(b.t, b.addr)
}

// Process returns the id of the broker's process. The broker must not run in a container.
func (b *Broker) Process() int {
	b.t.Helper()
	p, ok := b.runner.(*process)
	if !ok {
		b.t.Fatal("the broker is in a container")
	}
	return p.pid
}

// Kill ends the broker as kill -9 does.
func (b *Broker) Kill() { b.runner.Kill() }

// Stop stops the broker gracefully.
func (b *Broker) Stop() { b.runner.Stop() }

// Pause freezes the broker until Resume: it accepts connections and does not answer.
func (b *Broker) Pause() { b.runner.Pause() }

// Resume ends a Pause.
func (b *Broker) Resume() { b.runner.Resume() }
