package chengine

import "context"

// Start runs a new engine in a goroutine, and returns it as soon as it serves. The end of ctx ends
// only the wait for that, not the engine. stop ends the engine, waits for Run and returns its
// error. Call stop once.
func Start(ctx context.Context, cfg Config, deps Deps) (engine *Engine, stop func() error, err error) {
	if engine, err = New(cfg, deps); err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(running) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	if err := engine.WaitReady(ctx); err != nil {
		_ = stop() // WaitReady has returned this error already, or that of ctx
		return nil, nil, err
	}
	return engine, stop, nil
}
