package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// requests are the times of Kafka requests that should not wait for the log, by kind.
type requests struct {
	names  []string
	times  map[string][]time.Duration
	failed int
}

func (r *requests) add(name string, took time.Duration) {
	if r.times == nil {
		r.times = map[string][]time.Duration{}
	}
	if _, known := r.times[name]; !known {
		r.names = append(r.names, name)
	}
	r.times[name] = append(r.times[name], took)
}

func (r *requests) quantile(name string, q float64) time.Duration {
	times := slices.Sorted(slices.Values(r.times[name]))
	if len(times) == 0 {
		return 0
	}
	return times[min(len(times)-1, int(q*float64(len(times))))]
}

// String tells the median, the 99th percentile and the slowest of each kind.
func (r *requests) String() string {
	parts := make([]string, 0, len(r.names)+1)
	for _, name := range r.names {
		parts = append(parts, fmt.Sprintf("%s p50 %s p99 %s max %s (%d)", name, round(r.quantile(name, 0.5)), round(r.quantile(name, 0.99)),
			round(r.quantile(name, 1)), len(r.times[name])))
	}
	return strings.Join(append(parts, fmt.Sprintf("%d failed", r.failed)), ", ")
}

// over returns for each kind of request how many times as long its 99th percentile is as in idle.
func (r *requests) over(idle *requests) string {
	parts := make([]string, 0, len(r.names))
	for _, name := range r.names {
		if base := idle.quantile(name, 0.99); base > 0 {
			parts = append(parts, fmt.Sprintf("%s %.1f", name, float64(r.quantile(name, 0.99))/float64(base)))
		}
	}
	return strings.Join(parts, ", ")
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// asker sends requests over a connection of its own, one at a time.
type asker struct{ client *kgo.Client }

func newAsker(broker string) (*asker, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RequestRetries(0), kgo.DisableClientMetrics(), kgo.RequestTimeoutOverhead(10*time.Second))
	if err != nil {
		return nil, err
	}
	return &asker{client}, nil
}

func (a *asker) close() { a.client.Close() }

// pause is the time between two rounds of requests. Some 20 requests a second load no broker.
const pause = 150 * time.Millisecond

// ask sends one request of each kind and notes how long it took.
func (a *asker) ask(ctx context.Context, into *requests) {
	for _, kind := range []struct {
		name    string
		request kmsg.Request
	}{
		{"metadata", kmsg.NewPtrMetadataRequest()}, {"list_offsets", listOffsets()}, {"offset_fetch", offsetFetch()},
	} {
		began := time.Now()
		_, err := a.client.Broker(0).Request(ctx, kind.request)
		if err != nil {
			into.failed++
			continue
		}
		into.add(kind.name, time.Since(began))
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}

func listOffsets() kmsg.Request {
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = "chain.swaps.v1"
	for partition := range int32(4) {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = partition, -1
		topic.Partitions = append(topic.Partitions, p)
	}
	request.Topics = append(request.Topics, topic)
	return request
}

func offsetFetch() kmsg.Request {
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group = "mintlake-swaps"
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = "mintlake-swaps"
	request.Groups = append(request.Groups, group)
	return request
}
