package chengine

import "context"

// Start runs an engine for a command, and returns it when it serves. The end of ctx ends only the
// wait; stop stops it, and returns the error that it ended with.
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
		_ = stop() // the error is the same, or that of ctx
		return nil, nil, err
	}
	return engine, stop, nil
}
