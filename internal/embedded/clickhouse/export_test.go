package chengine

import "time"

// SetPing makes the engine look for a hanging child more often, before Run.
func (e *Engine) SetPing(every, timeout time.Duration) { e.pingEvery, e.pingTimeout = every, timeout }
