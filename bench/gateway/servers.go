package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/bench/process"
	"github.com/mintlake/mintlake/bench/report"

	"github.com/prometheus/client_golang/prometheus"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"golang.org/x/sync/errgroup"

	embedded "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

// broker is an embedded Kafka with Mintlake's topics.
type broker struct {
	addr     string
	producer *kafka.Producer
	stop     func()
	// slot is that of the block written last: a server passes on a transaction once a slot.
	slot uint64
}

// next returns the records of the block in the next slot.
func (b *broker) next(topic string, block []*pb.SubscribeUpdateTransaction) ([]kafka.Record, error) {
	b.slot++
	return records(topic, inSlot(b.slot, block))
}

func startBroker(ctx context.Context) (*broker, error) {
	dir, err := os.MkdirTemp("", "bench-gateway-")
	if err != nil {
		return nil, err
	}
	logger := slog.New(slog.DiscardHandler)
	server, err := embedded.New(embedded.Config{DataDir: dir, Addr: "127.0.0.1:0"}, embedded.Deps{Logger: logger})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	if err := server.WaitReady(ctx); err != nil {
		cancel()
		return nil, err
	}
	deps := kafka.Deps{Logger: logger, Registerer: prometheus.NewRegistry()}
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{server.Addr()}}, deps)
	if err != nil {
		cancel()
		return nil, err
	}
	defer admin.Close()
	for _, topic := range append(schemas.Topics(), schemas.Topic{Name: topicBefore, Partitions: 4, Retention: time.Hour}) {
		if err := admin.EnsureTopics(ctx, []kafka.TopicSpec{{Name: topic.Name, Partitions: topic.Partitions, ReplicationFactor: 1, Config: topic.Config()}}); err != nil {
			cancel()
			return nil, err
		}
	}
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{server.Addr()}}, deps)
	if err != nil {
		cancel()
		return nil, err
	}
	return &broker{addr: server.Addr(), producer: producer, slot: recordedSlot, stop: func() {
		producer.Close()
		cancel()
		<-done //nolint:errcheck // the broker ends with the process
		_ = os.RemoveAll(dir)
	}}, nil
}

// server is a `mintlake gateway`.
type server struct {
	addr    string // of the stream
	rpc     string // of JSON-RPC
	metrics string // URL of its metrics
	process *exec.Cmd
}

// startServer starts `mintlake gateway` of a binary, for up to clients subscribers, and waits until
// it listens. Settings that older binaries do not have are set only if more than 1,000 clients need
// them.
func startServer(ctx context.Context, broker *broker, binary string, clients int, more ...string) (*server, error) {
	dir, err := os.MkdirTemp("", "bench-gateway-")
	if err != nil {
		return nil, err
	}
	// The command is the operator's own.
	command := exec.CommandContext(ctx, binary, append([]string{"gateway", "--data-dir", dir, "--kafka-brokers", broker.addr, //nolint:gosec // as above
		"--stream-addr", "127.0.0.1:0", "--rpc-addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"}, more...)...)
	command.Env = os.Environ()
	if clients > 1000 {
		command.Env = append(command.Env, "MINTLAKE_STREAM_MAX_SUBSCRIBERS="+strconv.Itoa(clients), "MINTLAKE_STREAM_MAX_CONNECTIONS="+strconv.Itoa(clients+100),
			"MINTLAKE_STREAM_MAX_CONNECTIONS_PER_ADDRESS="+strconv.Itoa(clients+100))
	}
	return start(command)
}

// start starts a server and waits until it tells its addresses.
func start(command *exec.Cmd) (*server, error) {
	told, err := process.Start(command)
	if err != nil {
		return nil, err
	}
	host := func(name string) string { return strings.TrimPrefix(told[name], "http://") }
	return &server{process: command, addr: host("stream"), rpc: host("rpc"), metrics: told["metrics"]}, nil
}

func (s *server) stop() {
	_ = s.process.Process.Signal(os.Interrupt)
	late := time.AfterFunc(30*time.Second, func() { _ = s.process.Process.Kill() })
	_ = s.process.Wait()
	late.Stop()
}

// oneAddress makes a server take its clients' address for a proxy's. One client may not send what
// all of them do together.
const oneAddress = "--keys-trusted-proxies=127.0.0.1"

// metric returns the value of a metric without labels.
func (s *server) metric(ctx context.Context, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.metrics, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(text, 64)
		}
	}
	return 0, fmt.Errorf("no metric %s", name)
}

// resident returns the resident memory of the process, in bytes.
func (s *server) resident() (int, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS")
}

// cpu returns the processor time that the process has used so far.
func (s *server) cpu() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name in parentheses, which may have spaces. Of the fields
	// after it, the 12th and the 13th are user and system time in hundredths of a second.
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("/proc/PID/stat has another form")
	}
	var total time.Duration
	for _, field := range fields[11:13] {
		ticks, err := strconv.Atoi(field)
		if err != nil {
			return 0, err
		}
		total += time.Duration(ticks) * 10 * time.Millisecond
	}
	return total, nil
}

// measured has the times of rounds with one server: took has the wall time of each round, cpu the
// server's mean processor time of a round, for each time that the server was started.
type measured struct {
	took []time.Duration
	cpu  []time.Duration
}

func (m *measured) add(other measured) {
	m.took = append(m.took, other.took...)
	m.cpu = append(m.cpu, other.cpu...)
}

// connect opens clients with open, which gets their numbers.
func connect(clients int, open func(int) (*client, error)) ([]*client, error) {
	list := make([]*client, clients)
	var group errgroup.Group
	group.SetLimit(64)
	for i := range list {
		group.Go(func() (err error) {
			list[i], err = open(i)
			return err
		})
	}
	return list, group.Wait()
}

// patience is how long a round may take.
const patience = time.Minute

// fanout starts a server, connects a client for each filter, and writes the block to the topic
// rounds times. A round ends when the clients have got all deliveries. A first round that is not
// counted warms up.
func fanout(ctx context.Context, broker *broker, binary, topic string, filters [][]string, block []*pb.SubscribeUpdateTransaction, deliveries, rounds int, more ...string) (m measured, err error) {
	s, err := startServer(ctx, broker, binary, len(filters), more...)
	if err != nil {
		return m, err
	}
	defer s.stop()
	crowd, err := newCrowd(len(filters), func(i int) (*client, error) { return dial(s.addr, i%2 == 0, filters[i]) })
	if err != nil {
		return m, err
	}
	defer crowd.stop()
	var before time.Duration
	for round := range rounds + 1 {
		list, err := broker.next(topic, block)
		if err != nil {
			return m, err
		}
		if round == 1 { // the first one warms up
			if before, err = s.cpu(); err != nil {
				return m, err
			}
		}
		crowd.expect(deliveries)
		begin := time.Now()
		if err := broker.producer.Produce(ctx, list...); err != nil {
			return m, err
		}
		if err := crowd.wait(); err != nil {
			return m, err
		}
		if round > 0 {
			m.took = append(m.took, time.Since(begin))
		}
		time.Sleep(200 * time.Millisecond)
	}
	after, err := s.cpu()
	m.cpu = append(m.cpu, (after-before)/time.Duration(rounds))
	return m, err
}

// idle reports how much of the server's memory a client takes that has one filter and gets nothing.
func idle(ctx context.Context, o options, broker *broker, grpc bool, results *report.Report) error {
	s, err := startServer(ctx, broker, o.server, o.idle+1, oneAddress)
	if err != nil {
		return err
	}
	defer s.stop()
	form, most := "WebSocket", 40
	if grpc {
		form, most = "gRPC", 80
	}
	time.Sleep(3 * time.Second)
	before, err := s.resident()
	if err != nil {
		return err
	}
	clients, err := connect(o.idle, func(i int) (*client, error) { return dial(s.addr, grpc, idleFilter(i)) })
	if err != nil {
		return err
	}
	var left atomic.Int64
	for _, c := range clients {
		defer c.conn.Close() //nolint:errcheck // the run is over
		go func() { _ = c.count(&left, func() {}) }()
	}
	// The garbage of the connections' start is collected meanwhile. Pings are sent and answered.
	time.Sleep(40 * time.Second)
	after, err := s.resident()
	if err != nil {
		return err
	}
	each := float64(after-before) / float64(o.idle) / 1024
	results.Add(report.Figure{
		Name: fmt.Sprintf("%d idle clients, %s", o.idle, form), Value: each, Unit: "KB each", Goal: fmt.Sprintf("< %d KB", most), Met: each < float64(most),
		Note: fmt.Sprintf("%d MB in all", after>>20),
	})
	return nil
}
