package kafkatest

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/containers"
)

// clusterID is the cluster id with which each data folder is formatted.
const clusterID = "bWludGxha2UtdGVzdC1rYQ"

// javaOptions make for a quick start.
var javaOptions = []string{"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}

// Listener is a port of Apache Kafka besides the plain one.
type Listener struct {
	// Name is the listener's name in lower case letters.
	Name string
	// Protocol is SSL, SASL_PLAINTEXT or SASL_SSL.
	Protocol string
	// Settings are the listener's settings by their names without the prefix of the listener, such
	// as ssl.keystore.location.
	Settings map[string]string
}

// Secure configures the listeners of Apache Kafka besides the plain one.
type Secure struct {
	Listeners []Listener
	// Users has the passwords of the users of SCRAM-SHA-256 and SCRAM-SHA-512, by user name.
	Users map[string]string
	// Files are the paths of the files that the settings name. A container gets copies of the files
	// under the same paths.
	Files []string
}

// StartSecure runs Apache Kafka with these listeners until the test ends. It returns the address of
// the plain listener, and the addresses of the others by name.
func StartSecure(t testing.TB, secure Secure) (plain string, addrs map[string]string) {
	t.Helper()
	node := apacheNode{id: 1, addr: testkit.FreeAddr(t), secure: secure, addrs: map[string]string{}}
	for _, listener := range secure.Listeners {
		node.addrs[listener.Name] = testkit.FreeAddr(t)
	}
	runApache(t, node)
	waitAnswer(t, node.addr)
	addUsers(t, node.addr, secure.Users)
	return node.addr, node.addrs
}

// apacheNode is one node of Apache Kafka, which is broker and controller.
type apacheNode struct {
	id int
	// addr is the address for clients: a port of 127.0.0.1, even if the node runs in a container.
	addr string
	// voters are the controllers of the cluster; empty for a node that is alone.
	voters string
	nodes  int
	// controller is the address on which the node listens for controllers.
	controller string
	// network is the network of the cluster's containers; empty for processes.
	network string

	secure Secure
	addrs  map[string]string // the addresses of secure.Listeners, by name
}

// apacheCluster returns the configurations of the nodes of a cluster.
func apacheCluster(t testing.TB, count int) []apacheNode {
	t.Helper()
	nodes := make([]apacheNode, count)
	var network string
	if inContainers() {
		network = containers.NewNetwork(t)
	}
	voters := make([]string, count)
	for i := range nodes {
		nodes[i] = apacheNode{id: i + 1, addr: testkit.FreeAddr(t), nodes: count, network: network}
		if network == "" {
			nodes[i].controller = testkit.FreeAddr(t)
		} else {
			nodes[i].controller = nodes[i].name() + ":9093"
		}
		voters[i] = fmt.Sprintf("%d@%s", nodes[i].id, nodes[i].controller)
	}
	for i := range nodes {
		nodes[i].voters = strings.Join(voters, ",")
	}
	return nodes
}

// name returns the name of the node's container in its network.
func (n apacheNode) name() string { return fmt.Sprintf("kafka-%d", n.id) }

// inContainers reports whether Apache Kafka runs in containers.
func inContainers() bool { return os.Getenv("MINTLAKE_TEST_KAFKA") == "container" }

// runApache starts a node as a process or in a container, as the environment says.
func runApache(t testing.TB, node apacheNode) runner {
	t.Helper()
	if inContainers() {
		return runApacheContainer(t, node)
	}
	return runApacheProcess(t, node)
}

// runApacheProcess formats a data folder and starts the node.
func runApacheProcess(t testing.TB, node apacheNode) runner {
	t.Helper()
	dir := t.TempDir()
	jars := run(t, testkit.Root(t), filepath.Join("tools", "kafka", "install.sh"))
	if node.controller == "" {
		node.controller = testkit.FreeAddr(t)
	}
	settings := node.settings(node.addr, node.controller)
	settings["log.dirs"] = filepath.Join(dir, "data")
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s=%s\n", name, settings[name])
	}
	config := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(config, []byte(text.String()), 0o600); err != nil {
		t.Fatalf("start Apache Kafka: %v", err)
	}
	java := append([]string{"java"}, javaOptions...)
	java = append(java, "-cp", filepath.Join(jars, "*"))
	format := append(slices.Clone(java), "kafka.tools.StorageTool", "format", "-t", clusterID, "-c", config)
	run(t, dir, format[0], format[1:]...)
	return newProcess(t, dir, append(java, "kafka.Kafka", config))
}

// runApacheContainer starts the node in the official image, which formats its data folder by
// itself.
func runApacheContainer(t testing.TB, node apacheNode) runner {
	t.Helper()
	spec := containers.Spec{
		Image: "apache/kafka", Network: node.network, Name: node.name(), Files: map[string][]byte{},
		Env: map[string]string{"CLUSTER_ID": clusterID, "KAFKA_HEAP_OPTS": strings.Join(javaOptions, " ")},
	}
	if node.controller == "" {
		node.controller = "127.0.0.1:9093"
	}
	settings := node.settings(":"+port(t, node.addr), node.controller)
	settings["log.dirs"] = "/var/lib/kafka/data"
	for name, value := range settings {
		spec.Env[variable(name)] = value
	}
	for _, file := range node.secure.Files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("start Apache Kafka: %v", err)
		}
		spec.Files[file] = content
	}
	for _, addr := range append(slices.Collect(maps.Values(node.addrs)), node.addr) {
		number, err := strconv.Atoi(port(t, addr))
		if err != nil {
			t.Fatalf("start Apache Kafka: %v", err)
		}
		spec.Ports = append(spec.Ports, number)
	}
	return containers.Run(t, spec)
}

// variable returns the image's environment variable for a setting.
func variable(setting string) string {
	return "KAFKA_" + strings.ToUpper(strings.NewReplacer("_", "__", "-", "___", ".", "_").Replace(setting))
}

func port(t testing.TB, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatalf("start Apache Kafka: %v", err)
	}
	return port
}

// settings returns the settings of server.properties, without the data folder. clients and
// controller are the addresses on which the node listens.
func (n apacheNode) settings(clients, controller string) map[string]string {
	voters := n.voters
	if voters == "" {
		voters = fmt.Sprintf("%d@%s", n.id, controller)
	}
	copies := strconv.Itoa(max(n.nodes, 1))
	inSync := strconv.Itoa(max(n.nodes-1, 1))
	settings := map[string]string{
		"process.roles":                                    "broker,controller",
		"node.id":                                          strconv.Itoa(n.id),
		"controller.quorum.voters":                         voters,
		"listeners":                                        "PLAINTEXT://" + clients + ",CONTROLLER://" + controller,
		"advertised.listeners":                             "PLAINTEXT://" + n.addr,
		"listener.security.protocol.map":                   "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"inter.broker.listener.name":                       "PLAINTEXT",
		"controller.listener.names":                        "CONTROLLER",
		"auto.create.topics.enable":                        "false",
		"min.insync.replicas":                              inSync,
		"offsets.topic.replication.factor":                 copies,
		"offsets.topic.num.partitions":                     "4",
		"transaction.state.log.replication.factor":         copies,
		"transaction.state.log.min.isr":                    inSync,
		"share.coordinator.state.topic.replication.factor": copies,
		"share.coordinator.state.topic.min.isr":            inSync,
		// The default of three seconds is only useful if many members start at once.
		"group.initial.rebalance.delay.ms": "0",
		// A killed broker may register again only after its old registration ends.
		"broker.session.timeout.ms":    "3000",
		"broker.heartbeat.interval.ms": "500",
	}
	if n.network != "" {
		// Clients come through a published port of this machine. Brokers reach each other by name.
		settings["listeners"] += ",INSIDE://:19092"
		settings["advertised.listeners"] += ",INSIDE://" + n.name() + ":19092"
		settings["listener.security.protocol.map"] += ",INSIDE:PLAINTEXT"
		settings["inter.broker.listener.name"] = "INSIDE"
	}
	for _, listener := range n.secure.Listeners {
		name, at := strings.ToUpper(listener.Name), n.addrs[listener.Name]
		bind := at
		if strings.HasPrefix(clients, ":") {
			bind = at[strings.LastIndexByte(at, ':'):]
		}
		settings["listeners"] += "," + name + "://" + bind
		settings["advertised.listeners"] += "," + name + "://" + at
		settings["listener.security.protocol.map"] += "," + name + ":" + listener.Protocol
		for key, value := range listener.Settings {
			settings["listener.name."+listener.Name+"."+key] = value
		}
	}
	return settings
}

// addUsers creates the users with their passwords, for both kinds of SCRAM.
func addUsers(t testing.TB, addr string, users map[string]string) {
	t.Helper()
	if len(users) == 0 {
		return
	}
	const iterations = 4096 // the least that Apache Kafka takes
	salt := []byte("salt of a test")
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for mechanism, newHash := range []func() hash.Hash{sha256.New, sha512.New} {
		request := kmsg.NewPtrAlterUserSCRAMCredentialsRequest() // names a user once only
		for name, password := range users {
			salted, err := pbkdf2.Key(newHash, password, salt, iterations, newHash().Size())
			require.NoError(t, err)
			upsertion := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
			upsertion.Name, upsertion.Mechanism = name, int8(mechanism+1) // 1: SHA-256, 2: SHA-512
			upsertion.Iterations, upsertion.Salt, upsertion.SaltedPassword = iterations, salt, salted
			request.Upsertions = append(request.Upsertions, upsertion)
		}
		response, err := request.RequestWith(ctx, client)
		require.NoError(t, err)
		for _, result := range response.Results {
			require.NoError(t, kerr.ErrorForCode(result.ErrorCode), result.User)
		}
	}
}
