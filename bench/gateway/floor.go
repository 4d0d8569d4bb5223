package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	kafkago "github.com/segmentio/kafka-go"
	"golang.org/x/net/http2"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

// The floor of a fan-out is what Kafka, clients and sockets alone take. A plain consumer fetches
// the block. Then a server that does nothing but write sends each client the bytes that the
// measured server sent it, in one write. The server is a process of its own, as the measured one
// is.

// floor is what rounds took without a gateway.
type floor struct {
	// kafka is the time until a plain consumer has the block, writing the time from then until the
	// last client has read its last byte. total is their sum.
	kafka, writing, total measured
}

func (f *floor) add(other floor) {
	f.kafka.add(other.kafka)
	f.writing.add(other.writing)
	f.total.add(other.total)
}

// report adds the figures. before is the time of the binary that the gateway is compared with; 0 if
// there is none.
func (f *floor) report(results *report.Report, before time.Duration) {
	for _, row := range []struct {
		name string
		measured
		whose string
	}{
		{"the block through Kafka to a plain consumer", f.kafka, "producer, broker and consumer"},
		{"then nothing but writing", f.writing, "the writer"},
		{"floor: both", f.total, "all processes"},
	} {
		slices.Sort(row.took)
		slices.Sort(row.cpu)
		figure := report.Figure{
			Name: row.name, Value: ms(row.took[len(row.took)/2]), Unit: "ms",
			Note: fmt.Sprintf("median; %.0f ms processor time of %s; all: %s", ms(row.cpu[len(row.cpu)/2]), row.whose, list(row.took)),
		}
		if before > 0 {
			figure.Peer, figure.PeerValue = "before", ms(before)
		}
		results.Add(figure)
	}
}

// recordBlock returns the bytes that the measured server sends to each client for the block.
func recordBlock(ctx context.Context, broker *broker, binary string, filters [][]string, block []*pb.SubscribeUpdateTransaction, deliveries int) ([][]byte, error) {
	s, err := startServer(ctx, broker, binary, len(filters), oneAddress)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	crowd, err := newCrowd(len(filters), func(i int) (*client, error) {
		c, err := dial(s.addr, i%2 == 0, filters[i])
		if err == nil {
			c.records = true
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	defer crowd.stop()
	crowd.expect(deliveries)
	list, err := broker.next(schemas.TopicTransactions, block)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(broker.producer.Produce(ctx, list...), crowd.wait()); err != nil {
		return nil, err
	}
	crowd.stop()
	ready := make([][]byte, len(crowd.clients))
	for i, c := range crowd.clients {
		ready[i] = c.recorded
	}
	return ready, nil
}

// measureFloor measures rounds, after one that warms up. ready are the bytes for each client.
func measureFloor(ctx context.Context, broker *broker, ready [][]byte, block []*pb.SubscribeUpdateTransaction, deliveries, rounds int) (f floor, err error) {
	s, signal, err := startWriter(ctx)
	if err != nil {
		return f, err
	}
	defer s.stop()
	crowd, err := newCrowd(len(ready), func(i int) (*client, error) { return dialReady(s.addr, i%2 == 0, ready[i]) })
	if err != nil {
		return f, err
	}
	defer crowd.stop()
	consumer, err := consumeNew(ctx, broker)
	if err != nil {
		return f, err
	}
	defer consumer.Close() //nolint:errcheck // the run is over
	var before time.Duration
	var fetched, all part
	for round := range rounds + 1 {
		if round == 1 { // the first one warms up
			if before, err = s.cpu(); err != nil {
				return f, err
			}
			fetched, all = part{}, part{}
		}
		list, err := broker.next(schemas.TopicTransactions, block)
		if err != nil {
			return f, err
		}
		crowd.expect(deliveries)
		begin, used := time.Now(), ownCPU()
		if err := throughKafka(ctx, broker, consumer, list); err != nil {
			return f, err
		}
		fetched.add(begin, used)
		if _, err := io.WriteString(signal, "\n"); err != nil {
			return f, err
		}
		if err := crowd.wait(); err != nil {
			return f, err
		}
		all.add(begin, used)
		time.Sleep(200 * time.Millisecond)
	}
	after, err := s.cpu()
	each := func(cpu time.Duration) []time.Duration { return []time.Duration{cpu / time.Duration(rounds)} }
	f.kafka = measured{fetched.took, each(fetched.cpu)}
	f.total = measured{all.took, each(all.cpu + after - before)}
	f.writing.cpu = each(after - before)
	for i := range all.took {
		f.writing.took = append(f.writing.took, all.took[i]-fetched.took[i])
	}
	return f, err
}

// startWriter starts the server that does nothing but write: at each line of signal.
func startWriter(ctx context.Context) (s *server, signal io.Writer, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	process := exec.CommandContext(ctx, self, "--writer") //nolint:gosec // this program
	if signal, err = process.StdinPipe(); err != nil {
		return nil, nil, err
	}
	s, err = start(process)
	return s, signal, err
}

// part is what a part of the rounds took: each time by the clock, and this process's processor time
// in all.
type part struct {
	took []time.Duration
	cpu  time.Duration
}

// add adds what began at begin, when this process had used so much processor time, and ends now.
func (p *part) add(begin time.Time, used time.Duration) {
	p.took = append(p.took, time.Since(begin))
	p.cpu += ownCPU() - used
}

// throughKafka writes records to the topic, and returns when the consumer has read them.
func throughKafka(ctx context.Context, broker *broker, consumer *kafkago.Reader, list []kafka.Record) error {
	produced := make(chan error, 1)
	go func() { produced <- broker.producer.Produce(ctx, list...) }()
	for range list {
		if _, err := consumer.ReadMessage(ctx); err != nil {
			return err
		}
	}
	return <-produced
}

// consumeNew returns a plain consumer of what is written to the topic from now on.
func consumeNew(ctx context.Context, broker *broker) (*kafkago.Reader, error) {
	leader, err := kafkago.DialLeader(ctx, "tcp", broker.addr, schemas.TopicTransactions, 0)
	if err != nil {
		return nil, err
	}
	defer leader.Close() //nolint:errcheck // its answer is there
	end, err := leader.ReadLastOffset()
	if err != nil {
		return nil, err
	}
	reader := kafkago.NewReader(kafkago.ReaderConfig{Brokers: []string{broker.addr}, Topic: schemas.TopicTransactions, Partition: 0, MaxBytes: 10 << 20})
	return reader, reader.SetOffset(end)
}

// ownCPU returns the processor time that this process has used: broker, producer and clients.
func ownCPU() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0 // Linux always knows it
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// dialReady connects to a writer and tells it what to write.
func dialReady(addr string, grpc bool, ready []byte) (*client, error) {
	return dialWith(addr, grpc, func(c *client) error {
		c.http2 = http2.NewFramer(c.conn, c.read)
		c.http2.SetReuseFrames()
		if _, err := c.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(ready))), ready...)); err != nil {
			return err
		}
		_, err := c.read.ReadByte() // it has them all
		return err
	})
}

// serveWriter is the server that does nothing but write. A client tells it the bytes that it wants.
// With each line on standard input all clients get theirs.
func serveWriter() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("addresses stream=http://%s\n", listener.Addr())
	type connection struct {
		net.Conn
		ready []byte
	}
	var mu sync.Mutex
	var connections []connection
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				var size [4]byte
				if _, err := io.ReadFull(conn, size[:]); err != nil {
					return
				}
				ready := make([]byte, binary.BigEndian.Uint32(size[:]))
				if _, err := io.ReadFull(conn, ready); err != nil {
					return
				}
				mu.Lock()
				connections = append(connections, connection{conn, ready})
				mu.Unlock()
				_, _ = conn.Write([]byte{0}) // the client fails if this does
			}()
		}
	}()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		mu.Lock()
		var writers sync.WaitGroup
		cores := runtime.GOMAXPROCS(0)
		for core := range cores {
			writers.Go(func() {
				for i := core; i < len(connections); i += cores {
					// If this fails, the client misses it.
					_, _ = connections[i].Write(connections[i].ready)
				}
			})
		}
		writers.Wait()
		mu.Unlock()
	}
	return lines.Err()
}
