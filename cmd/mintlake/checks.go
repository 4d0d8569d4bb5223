package main

import (
	"context"
	"errors"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/kafka"
)

// needKafka: every room reads or writes it.
func (s *system) needKafka() {
	s.readiness.add("kafka", true, s.admin.Ping)
}

// needGroup: a room that reads as a member of a group does nothing before it has joined. A member
// without partitions is ready too: it stands by.
func (s *system) needGroup(group string, consumer *kafka.GroupConsumer) {
	s.readiness.add("group "+group, true, func(context.Context) error {
		if !consumer.Joined() {
			return errors.New("this member has not joined the consumer group")
		}
		return nil
	})
}

// needClickHouse asks over a connection of its own. It is vital for who writes; the API serves on
// without.
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
