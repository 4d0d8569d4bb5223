package status

import "github.com/mintlake/mintlake/replica"

// Checkpoint is the file in which the node keeps its copy of the registry for the next start.
type Checkpoint struct {
	// Loaded is true if this process began with a checkpoint.
	Loaded bool `json:"loaded"`
	// WrittenAtMS and Bytes are those of the file; nil if there is no file that can be used.
	WrittenAtMS *int64 `json:"written_at_ms"`
	Bytes       *int64 `json:"bytes"`
	// Refused is why this process did not begin with the file that it found. Failed is why the file
	// could not be written the last time. Each is nil if that did not happen.
	Refused *string `json:"refused"`
	Failed  *string `json:"failed"`
}

func checkpointOf(now *replica.CheckpointStatus) *Checkpoint {
	if now == nil {
		return nil
	}
	c := &Checkpoint{Loaded: now.Loaded}
	if now.Bytes > 0 {
		at, bytes := now.WrittenAt.UnixMilli(), now.Bytes
		c.WrittenAtMS, c.Bytes = &at, &bytes
	}
	if now.Refused != "" {
		c.Refused = &now.Refused
	}
	if now.Failed != "" {
		c.Failed = &now.Failed
	}
	return c
}
