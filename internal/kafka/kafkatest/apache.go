package kafkatest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mintlake/mintlake/internal/testkit"
)

// Listener is a port of Apache Kafka besides the plain one.
type Listener struct {
	// Name in lower case letters.
	Name string
	// Protocol is SSL, SASL_PLAINTEXT or SASL_SSL.
	Protocol string
	// Settings of this listener, without its prefix: ssl.keystore.location …
	Settings map[string]string
}

// Secure is what Apache Kafka has besides a plain port.
type Secure struct {
	Listeners []Listener
	// Scram holds users as StorageTool takes them: SCRAM-SHA-512=[name=a,password=b].
	Scram []string

	addrs map[string]string
}

// StartSecure runs Apache Kafka with these listeners until the test ends. It returns the plain port and the others by name.
func StartSecure(t testing.TB, secure Secure) (plain string, addrs map[string]string) {
	t.Helper()
	secure.addrs = map[string]string{}
	for _, listener := range secure.Listeners {
		secure.addrs[listener.Name] = freeAddr(t)
	}
	b := &Broker{t: t, dir: t.TempDir(), addr: freeAddr(t)}
	b.command = apacheCommand(t, b.dir, b.addr, secure)
	b.killAtEnd()
	b.Start()
	return b.addr, secure.addrs
}

// apacheCommand formats a data folder and returns the command of a single node that is broker and controller.
func apacheCommand(t testing.TB, dir, addr string, secure Secure) []string {
	t.Helper()
	jars := run(t, testkit.Root(t), filepath.Join("tools", "kafka", "install.sh"))
	controller := freeAddr(t)
	settings := map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        "1",
		"controller.quorum.voters":       "1@" + controller,
		"listeners":                      "PLAINTEXT://" + addr + ",CONTROLLER://" + controller,
		"advertised.listeners":           "PLAINTEXT://" + addr,
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"inter.broker.listener.name":     "PLAINTEXT",
		"controller.listener.names":      "CONTROLLER",
		"log.dirs":                       filepath.Join(dir, "data"),
		"auto.create.topics.enable":      "false",
		// One node has one copy of everything.
		"offsets.topic.replication.factor":                 "1",
		"offsets.topic.num.partitions":                     "4",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		// Three seconds that only make sense where many members start at once.
		"group.initial.rebalance.delay.ms": "0",
		// A killed broker may register again only after its old registration ends.
		"broker.session.timeout.ms":    "3000",
		"broker.heartbeat.interval.ms": "500",
	}
	for _, listener := range secure.Listeners {
		at := strings.ToUpper(listener.Name) + "://" + secure.addrs[listener.Name]
		settings["listeners"] += "," + at
		settings["advertised.listeners"] += "," + at
		settings["listener.security.protocol.map"] += "," + strings.ToUpper(listener.Name) + ":" + listener.Protocol
		for name, value := range listener.Settings {
			settings["listener.name."+listener.Name+"."+name] = value
		}
	}
	var text strings.Builder
	for name, value := range settings {
		fmt.Fprintf(&text, "%s=%s\n", name, value)
	}
	config := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(config, []byte(text.String()), 0o600); err != nil {
		t.Fatalf("start Apache Kafka: %v", err)
	}
	java := []string{
		"java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(jars, "*"),
	}
	format := append(append([]string(nil), java...), "kafka.tools.StorageTool", "format", "-t", "bWludGxha2UtdGVzdC1rYQ", "-c", config)
	for _, user := range secure.Scram {
		format = append(format, "--add-scram", user)
	}
	run(t, dir, format[0], format[1:]...)
	return append(java, "kafka.Kafka", config)
}
