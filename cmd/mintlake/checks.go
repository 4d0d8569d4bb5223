package main

import (
	"context"
	"errors"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/kafka"
)

// needKafka adds Kafka to the checks of readiness: every room needs it.
func (s *system) needKafka() {
	s.readiness.add("kafka", true, s.admin.Ping)
}

// needGroup adds a check that the consumer has joined its group, since the room does nothing
// before. A member without partitions is ready too: it is a standby.
func (s *system) needGroup(group string, consumer *kafka.GroupConsumer) {
	s.readiness.add("group "+group, true, func(context.Context) error {
		if !consumer.Joined() {
			return errors.New("this member has not joined the consumer group")
		}
		return nil
	})
}

// needClickHouse adds ClickHouse to the checks of readiness, over a connection of its own. vital is
// true for rooms that write to it; the API works without it for a while.
func (s *system) needClickHouse(vital bool) {
	var mu sync.Mutex
	var conn driver.Conn
	s.closers = append(s.closers, func() {
		mu.Lock()
		defer mu.Unlock()
		if conn != nil {
			_ = conn.Close()
		}
	})
	s.readiness.add("clickhouse", vital, func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if conn == nil {
			opened, err := s.openClickHouse(ctx)
			if err != nil {
				return err
			}
			conn = opened
		}
		return conn.Ping(ctx)
	})
}
