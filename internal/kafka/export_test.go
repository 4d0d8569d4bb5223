package kafka

import "time"

// WithHeartbeatInterval returns the configuration with another time between two heartbeats.
func (c CandidateConfig) WithHeartbeatInterval(interval time.Duration) CandidateConfig {
	c.heartbeatInterval = interval
	return c
}

// WithMaxRecordBytes returns the configuration with another bound of a record.
func (c ProducerConfig) WithMaxRecordBytes(bytes int) ProducerConfig {
	c.maxRecordBytes = bytes
	return c
}
