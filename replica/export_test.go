package replica

import "context"

// WriteCheckpoint writes a checkpoint now.
func (r *Replica) WriteCheckpoint(ctx context.Context) (int64, error) { return r.writeCheckpoint(ctx) }

// CheckpointPath is the file's.
func (r *Replica) CheckpointPath() string { return r.checkpointPath() }
