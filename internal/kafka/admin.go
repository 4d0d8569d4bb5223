package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	kafkago "github.com/segmentio/kafka-go"
)

// AdminConfig configures an Admin.
type AdminConfig struct {
	// Brokers are host:port addresses to begin with. Required.
	Brokers []string
}

// Admin creates topics and reads offsets. Many goroutines may use it at once. All methods retry
// transient errors until ctx ends.
type Admin struct {
	client *client
	log    *sampler
}

// NewAdmin checks the configuration. It connects on the first call.
func NewAdmin(cfg AdminConfig, deps Deps) (*Admin, error) {
	c, err := newClient(cfg.Brokers, clientID, deps.Security)
	if err != nil {
		return nil, err
	}
	return &Admin{client: c, log: newSampler(deps.logger())}, nil
}

// Close closes the connections.
func (a *Admin) Close() { a.client.close() }

// Ping returns as soon as a broker answers.
func (a *Admin) Ping(ctx context.Context) error {
	err := a.retry(ctx, func(ctx context.Context) error {
		resp, err := a.client.ApiVersions(ctx, &kafkago.ApiVersionsRequest{})
		if err != nil {
			return err
		}
		return resp.Error
	})
	if err != nil {
		return fmt.Errorf("ping kafka: %w", err)
	}
	return nil
}

// EnsureTopics creates the missing topics, and changes those settings of the existing ones that
// specs give another value. It leaves all other settings. It returns ErrTopicSpec for an incomplete
// specification, such as one without both retentions, ErrPartitionCount for a topic that exists
// with another number of partitions, or the broker's error.
func (a *Admin) EnsureTopics(ctx context.Context, specs []TopicSpec) error {
	var errs []error
	for _, spec := range specs {
		errs = append(errs, spec.check())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	err := a.retry(ctx, func(ctx context.Context) error { return a.create(ctx, specs) })
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	err = a.retry(ctx, func(ctx context.Context) error { return a.checkPartitions(ctx, specs) })
	if err != nil {
		return fmt.Errorf("check topics: %w", err)
	}
	err = a.retry(ctx, func(ctx context.Context) error { return a.configure(ctx, specs) })
	if err != nil {
		return fmt.Errorf("configure topics: %w", err)
	}
	return nil
}

func (s TopicSpec) check() error {
	if s.Name == "" || s.Partitions < 1 || s.ReplicationFactor < 1 {
		return fmt.Errorf("%w %q: name, partitions and replication factor are required", ErrTopicSpec, s.Name)
	}
	for _, name := range []string{"retention.ms", "retention.bytes"} {
		if n, err := strconv.ParseInt(s.Config[name], 10, 64); err != nil || n < -1 {
			return fmt.Errorf("%w %q: %s is %q, must be a whole number, -1 for ever", ErrTopicSpec, s.Name, name, s.Config[name])
		}
	}
	return nil
}

// initial returns the settings of a new topic. With three replicas or more, an acknowledged record
// must lie on two brokers: the brokers' default is one. With two replicas, that would stop all
// writes when one broker is away. An existing topic keeps what it has, as it may have fewer
// replicas than the specification.
func (s TopicSpec) initial() map[string]string {
	config := maps.Clone(s.Config)
	if _, set := config["min.insync.replicas"]; !set && s.ReplicationFactor >= 3 {
		config["min.insync.replicas"] = "2"
	}
	return config
}

// create creates the topics that do not exist yet.
func (a *Admin) create(ctx context.Context, specs []TopicSpec) error {
	existing, err := a.existing(ctx)
	if err != nil {
		return err
	}
	req := &kafkago.CreateTopicsRequest{}
	for _, spec := range specs {
		if existing[spec.Name] {
			continue
		}
		topic := kafkago.TopicConfig{Topic: spec.Name, NumPartitions: spec.Partitions, ReplicationFactor: spec.ReplicationFactor}
		config := spec.initial()
		for _, name := range sortedKeys(config) {
			topic.ConfigEntries = append(topic.ConfigEntries, kafkago.ConfigEntry{ConfigName: name, ConfigValue: config[name]})
		}
		req.Topics = append(req.Topics, topic)
	}
	if len(req.Topics) == 0 {
		return nil
	}
	resp, err := a.client.CreateTopics(ctx, req)
	if err != nil {
		return err
	}
	var errs []error
	for topic, err := range resp.Errors {
		if err != nil && !isCode(err, kafkago.TopicAlreadyExists) {
			errs = append(errs, fmt.Errorf("%s: %w", topic, err))
		}
	}
	return firstPermanent(errs)
}

// existing returns all topics of the cluster. The value is false for a topic that exists but has an
// error now, for example because no broker leads it.
func (a *Admin) existing(ctx context.Context) (map[string]bool, error) {
	meta, err := a.client.Metadata(ctx, &kafkago.MetadataRequest{})
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(meta.Topics))
	for _, topic := range meta.Topics {
		names[topic.Name] = topic.Error == nil
	}
	return names, nil
}

// MissingTopics returns which of the topics do not exist, in their order.
func (a *Admin) MissingTopics(ctx context.Context, topics []string) ([]string, error) {
	var missing []string
	err := a.retry(ctx, func(ctx context.Context) error {
		existing, err := a.existing(ctx)
		if err != nil {
			return err
		}
		missing = nil
		for _, topic := range topics {
			if _, ok := existing[topic]; !ok {
				missing = append(missing, topic)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	return missing, nil
}

// checkPartitions returns ErrPartitionCount for topics that have another number of partitions than
// in specs.
func (a *Admin) checkPartitions(ctx context.Context, specs []TopicSpec) error {
	names := make([]string, len(specs))
	for i, spec := range specs {
		names[i] = spec.Name
	}
	counts, err := a.client.partitions(ctx, names...)
	if err != nil {
		return err
	}
	var errs []error
	for _, spec := range specs {
		if counts[spec.Name] != spec.Partitions {
			errs = append(errs, fmt.Errorf("%w: %s has %d, wanted %d: keep the number it has, or move its records to a new topic",
				ErrPartitionCount, spec.Name, counts[spec.Name], spec.Partitions))
		}
	}
	return errors.Join(errs...)
}

// configure sets the settings that differ from specs.
func (a *Admin) configure(ctx context.Context, specs []TopicSpec) error {
	current, err := a.settings(ctx, specs)
	if err != nil {
		return err
	}
	req := &kafkago.IncrementalAlterConfigsRequest{}
	for _, spec := range specs {
		resource := kafkago.IncrementalAlterConfigsRequestResource{ResourceType: kafkago.ResourceTypeTopic, ResourceName: spec.Name}
		for _, name := range sortedKeys(spec.Config) {
			if current[spec.Name][name] != spec.Config[name] {
				resource.Configs = append(resource.Configs, kafkago.IncrementalAlterConfigsRequestConfig{
					Name: name, Value: spec.Config[name], ConfigOperation: kafkago.ConfigOperationSet,
				})
			}
		}
		if len(resource.Configs) > 0 {
			req.Resources = append(req.Resources, resource)
		}
	}
	if len(req.Resources) == 0 {
		return nil
	}
	resp, err := a.client.IncrementalAlterConfigs(ctx, req)
	if err != nil {
		return err
	}
	var errs []error
	for _, resource := range resp.Resources {
		if resource.Error != nil {
			errs = append(errs, fmt.Errorf("%s: %w", resource.ResourceName, resource.Error))
		}
	}
	return firstPermanent(errs)
}

// settings reads the topics' current settings.
func (a *Admin) settings(ctx context.Context, specs []TopicSpec) (map[string]map[string]string, error) {
	req := &kafkago.DescribeConfigsRequest{}
	for _, spec := range specs {
		resource := kafkago.DescribeConfigRequestResource{ResourceType: kafkago.ResourceTypeTopic, ResourceName: spec.Name}
		if len(spec.Config) > 0 {
			resource.ConfigNames = sortedKeys(spec.Config) // no names would mean all settings
		}
		req.Resources = append(req.Resources, resource)
	}
	resp, err := a.client.DescribeConfigs(ctx, req)
	if err != nil {
		return nil, err
	}
	out := make(map[string]map[string]string, len(specs))
	for _, resource := range resp.Resources {
		if resource.Error != nil {
			return nil, fmt.Errorf("%s: %w", resource.ResourceName, resource.Error)
		}
		out[resource.ResourceName] = make(map[string]string)
		for _, entry := range resource.ConfigEntries {
			out[resource.ResourceName][entry.ConfigName] = entry.ConfigValue
		}
	}
	return out, nil
}

// TopicConfig returns all settings of a topic, by their Kafka names.
func (a *Admin) TopicConfig(ctx context.Context, topic string) (map[string]string, error) {
	var out map[string]string
	err := a.retry(ctx, func(ctx context.Context) error {
		settings, err := a.settings(ctx, []TopicSpec{{Name: topic}})
		out = settings[topic]
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read topic settings: %w", err)
	}
	return out, nil
}

// EndOffsets returns for each partition of topics the offset that the next record gets.
func (a *Admin) EndOffsets(ctx context.Context, topics []string) (map[TopicPartition]int64, error) {
	return a.offsets(ctx, topics, kafkago.LastOffset)
}

// StartOffsets returns for each partition of topics the offset of its first record. For an empty
// partition it is the offset that the next record gets.
func (a *Admin) StartOffsets(ctx context.Context, topics []string) (map[TopicPartition]int64, error) {
	return a.offsets(ctx, topics, kafkago.FirstOffset)
}

// CommittedOffsets returns for each partition of topics the offset where the group reads on.
// Partitions without a committed offset are left out.
func (a *Admin) CommittedOffsets(ctx context.Context, group string, topics []string) (map[TopicPartition]int64, error) {
	var out map[TopicPartition]int64
	err := a.retry(ctx, func(ctx context.Context) error {
		tps, err := a.client.topicPartitions(ctx, topics)
		if err != nil {
			return err
		}
		out, err = a.client.committed(ctx, group, tps)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("committed offsets of %s: %w", group, err)
	}
	for tp, offset := range out {
		if offset == offsetUnknown {
			delete(out, tp)
		}
	}
	return out, nil
}

func (a *Admin) offsets(ctx context.Context, topics []string, at int64) (map[TopicPartition]int64, error) {
	var out map[TopicPartition]int64
	err := a.retry(ctx, func(ctx context.Context) error {
		tps, err := a.client.topicPartitions(ctx, topics)
		if err != nil {
			return err
		}
		out, err = a.client.listOffsets(ctx, tps, at)
		return err
	})
	return out, err
}

func (a *Admin) retry(ctx context.Context, do func(context.Context) error) error {
	return a.client.retry(ctx, func(err error) { a.log.trouble(err, "kafka admin request failed") }, do)
}

// topicPartitions lists all partitions of topics.
func (c *client) topicPartitions(ctx context.Context, topics []string) ([]TopicPartition, error) {
	counts, err := c.partitions(ctx, topics...)
	if err != nil {
		return nil, err
	}
	var tps []TopicPartition
	for _, topic := range topics {
		for p := range counts[topic] {
			tps = append(tps, TopicPartition{Topic: topic, Partition: p})
		}
	}
	return tps, nil
}

// firstPermanent returns the first permanent error, if there is one, or else all errors joined. A
// permanent error that is joined with a retryable one might be retried.
func firstPermanent(errs []error) error {
	for _, err := range errs {
		if !Retryable(err) {
			return err
		}
	}
	return errors.Join(errs...)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
