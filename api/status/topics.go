package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/schemas"
)

// Topics tells which of some topics do not exist.
type Topics interface {
	MissingTopics(ctx context.Context, topics []string) ([]string, error)
}

// topicsEvery is the time between two checks of the topics. A topic counts as gone if it is missing
// in two checks in a row: a broker that starts may not know all topics yet.
const topicsEvery = 2 * time.Second

// truthTopics returns the topics that the registry is made of. Without one of them this node's
// answers become outdated, and another node cannot load the registry.
func truthTopics() []string {
	return []string{schemas.TopicTokenEvents, schemas.TopicEnrichments, schemas.TopicSlots}
}

// topicWatch notices topics that vanish.
type topicWatch struct {
	topics Topics
	gauge  prometheus.Gauge

	mu sync.Mutex
	// last are the topics that were missing in the last check, gone those that count as gone.
	last, gone []string
}

func newTopicWatch(topics Topics, registerer prometheus.Registerer) (*topicWatch, error) {
	w := &topicWatch{topics: topics, gauge: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mintlake_api_missing_topics", Help: "Topics of Mintlake that do not exist in Kafka: somebody deleted them.",
	})}
	return w, counters.Register(registerer, w.gauge)
}

// look checks the topics once, and returns whether the topics that are gone have changed. If Kafka
// does not answer, the last result stays.
func (w *topicWatch) look(ctx context.Context) (changed bool, err error) {
	all := schemas.Topics()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	missing, err := w.topics.MissingTopics(ctx, names)
	if err != nil {
		return false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.gone
	w.gone = slices.DeleteFunc(slices.Clone(missing), func(topic string) bool { return !slices.Contains(w.last, topic) && !slices.Contains(before, topic) })
	w.last = missing
	w.gauge.Set(float64(len(w.gone)))
	return !slices.Equal(before, w.gone), nil
}

// missing returns the topics that are gone.
func (w *topicWatch) missing() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone
}

// runTopics checks the topics until ctx ends.
func (c *Collector) runTopics(ctx context.Context) {
	if c.watch == nil {
		return
	}
	ticker := time.NewTicker(topicsEvery)
	defer ticker.Stop()
	for {
		c.lookAtTopics(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (c *Collector) lookAtTopics(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	changed, err := c.watch.look(within)
	switch gone := c.watch.missing(); {
	case err != nil || !changed:
	case len(gone) > 0:
		c.logger.Error("topics are gone from kafka: the log is not whole any more", "topics", strings.Join(gone, " "))
	default:
		c.logger.Warn("the topics that were gone from kafka are there again; what they held before is not")
	}
}

// errTopics is the error of the pipeline while topics are missing.
var errTopics = errors.New("topics are missing")

// Reasons returns a text for each topic that is gone, and for each version of transactions that
// ingest does not read. truth is true if the registry is made of one of these topics: then the node
// must not count as ready.
func (c *Collector) Reasons() (reasons []string, truth bool) {
	reasons, truth = c.topicReasons()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, version := range c.versions {
		reasons = append(reasons, fmt.Sprintf("ingest does not read transactions of version %d: their blocks are gaps until it is upgraded", version))
	}
	return reasons, truth
}

// topicReasons returns the reasons of Reasons that are about topics.
func (c *Collector) topicReasons() (reasons []string, truth bool) {
	reasons = []string{}
	if c.watch == nil {
		return reasons, false
	}
	for _, topic := range c.watch.missing() {
		reasons = append(reasons, "topic "+topic+" is gone from kafka: stop the node, look at docs/kafka.md, Damage on disk")
		truth = truth || slices.Contains(truthTopics(), topic)
	}
	return reasons, truth
}
