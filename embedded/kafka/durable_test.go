package kafka

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// slowDisk is a disk whose syncs stand still until it is released.
type slowDisk struct {
	mu      sync.Mutex
	synced  map[string]int
	err     error
	blocked chan struct{} // syncs wait until it is closed; nil: they do not
	waiting chan struct{} // told of each sync that waits
}

func (d *slowDisk) sync(path string) error {
	d.mu.Lock()
	blocked, err := d.blocked, d.err
	d.mu.Unlock()
	if blocked != nil {
		select {
		case d.waiting <- struct{}{}:
		default:
		}
		<-blocked
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced[filepath.Base(path)]++
	return err
}

func (d *slowDisk) block() func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	blocked := make(chan struct{})
	d.blocked = blocked
	return func() {
		d.mu.Lock()
		d.blocked = nil
		d.mu.Unlock()
		close(blocked)
	}
}

// onDisk runs a broker on d with a topic "t" of one partition, and returns a way to open
// connections and Run's result.
func onDisk(t *testing.T, d *slowDisk) (dial func() net.Conn, ended <-chan error) {
	t.Helper()
	d.synced, d.waiting = make(map[string]int), make(chan struct{}, 1)
	broker, err := New(Config{DataDir: t.TempDir(), Addr: "127.0.0.1:0"}, Deps{})
	require.NoError(t, err)
	broker.syncFile = d.sync
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- broker.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-broker.stopped
	})
	require.NoError(t, broker.WaitReady(ctx))
	dial = func() net.Conn {
		conn, err := net.Dial("tcp", broker.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.SetVersion(4)
	create.Topics = append(create.Topics, topicRequest("t", 1, map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}))
	conn := dial()
	send(t, conn, frame(keyCreateTopics, 4, create.AppendTo([]byte{0xff, 0xff})))
	readFrame(t, conn)
	return dial, done
}

func send(t *testing.T, conn net.Conn, request []byte) {
	t.Helper()
	_, err := conn.Write(request)
	require.NoError(t, err)
}

func request(r kmsg.Request, version int16) []byte {
	r.SetVersion(version)
	return frame(r.Key(), version, r.AppendTo([]byte{0xff, 0xff}))
}

// TestQuestionsDoNotWaitForTheDisk: while a produce request waits for its sync, the requests that
// only ask are answered, and the records are not shown before they are durable. kfake's own syncs
// hold up every request.
func TestQuestionsDoNotWaitForTheDisk(t *testing.T) {
	disk := &slowDisk{}
	dial, _ := onDisk(t, disk)
	release := disk.block()
	producer := dial()
	send(t, producer, produceFrame(t, 8, -1, goodBatch()))
	<-disk.waiting

	list := kmsg.NewPtrListOffsetsRequest()
	list.ReplicaID = -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = "t"
	partition := kmsg.NewListOffsetsRequestTopicPartition()
	partition.Timestamp, partition.CurrentLeaderEpoch = -1, -1
	topic.Partitions = append(topic.Partitions, partition)
	list.Topics = append(list.Topics, topic)
	offsets := kmsg.NewPtrOffsetFetchRequest()
	offsets.Group = "g"
	group := kmsg.NewPtrFindCoordinatorRequest()
	group.CoordinatorKey = "g"
	asking := dial()
	for _, question := range [][]byte{
		request(kmsg.NewPtrMetadataRequest(), 8), request(list, 5), request(offsets, 5), request(group, 2), request(kmsg.NewPtrApiVersionsRequest(), 2),
	} {
		send(t, asking, question)
		readFrame(t, asking)
	}

	fetch := kmsg.NewPtrFetchRequest()
	fetch.ReplicaID, fetch.MaxWaitMillis, fetch.MinBytes, fetch.MaxBytes = -1, 10, 1, 1<<20
	wanted := kmsg.NewFetchRequestTopic()
	wanted.Topic = "t"
	from := kmsg.NewFetchRequestTopicPartition()
	from.PartitionMaxBytes, from.CurrentLeaderEpoch = 1<<20, -1
	wanted.Partitions = append(wanted.Partitions, from)
	fetch.Topics = append(fetch.Topics, wanted)
	reader := dial()
	send(t, reader, request(fetch, 11))
	require.NoError(t, reader.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err := reader.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a record is not shown before it is on disk")
	require.NoError(t, reader.SetReadDeadline(time.Time{}))

	release()
	readFrame(t, producer)
	answer := readFrame(t, reader)
	require.Greater(t, len(answer), len(goodBatch()))
	disk.mu.Lock()
	defer disk.mu.Unlock()
	require.NotZero(t, disk.synced["0.dat"])
	require.Zero(t, disk.synced["0.idx"], "an index is made anew, and must not reach the disk before its segment")
	require.NotZero(t, disk.synced["t-0"], "the folder has a new file")
}

// TestWritersShareASync: those who wait while one sync runs share the next.
func TestWritersShareASync(t *testing.T) {
	disk := &slowDisk{}
	dial, _ := onDisk(t, disk)
	release := disk.block()
	first := dial()
	send(t, first, produceFrame(t, 8, -1, goodBatch()))
	<-disk.waiting
	var others []net.Conn
	for range 20 {
		conn := dial()
		send(t, conn, produceFrame(t, 8, -1, goodBatch()))
		others = append(others, conn)
	}
	release()
	readFrame(t, first)
	for _, conn := range others {
		readFrame(t, conn)
	}
	disk.mu.Lock()
	defer disk.mu.Unlock()
	require.Less(t, disk.synced["0.dat"], 21)
}

// TestWhatTheDiskRefusesIsNotAcknowledged: the producer hears nothing, and the broker ends with the
// reason.
func TestWhatTheDiskRefusesIsNotAcknowledged(t *testing.T) {
	disk := &slowDisk{}
	dial, ended := onDisk(t, disk)
	disk.mu.Lock()
	disk.err = errors.New("input/output error")
	disk.mu.Unlock()
	conn := dial()
	send(t, conn, produceFrame(t, 8, -1, goodBatch()))
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	err = <-ended
	require.ErrorIs(t, err, errSync)
	require.True(t, strings.Contains(err.Error(), "input/output error"), err)
}
