package server

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/setting"
	"aibox/app/sandbox/code"
	"aibox/internal/termtext"
	"aibox/session"
)

// codeRunner implements Code with a runner.
type codeRunner struct {
	runner *code.Runner
}

// NewCode returns a Code that uses a runner.
func NewCode(runner *code.Runner) Code { return codeRunner{runner} }

// validations are the validations of the schema.
var validations = map[aiboxv1.CodeValidation]code.Validation{
	aiboxv1.CodeValidation_CODE_VALIDATION_ADVISE: code.Advise,
	aiboxv1.CodeValidation_CODE_VALIDATION_REFUSE: code.Refuse,
}

// codeStatuses are the statuses of the schema.
var codeStatuses = map[code.Status]aiboxv1.CodeStatus{
	code.Completed: aiboxv1.CodeStatus_CODE_STATUS_COMPLETED,
	code.Failed:    aiboxv1.CodeStatus_CODE_STATUS_FAILED,
	code.TimedOut:  aiboxv1.CodeStatus_CODE_STATUS_TIMEOUT,
}

func (c codeRunner) RunCode(ctx context.Context, id session.ID, r *aiboxv1.RunCodeRequest) (*aiboxv1.RunCodeResponse, error) {
	timeout, err := setting.FromDuration("timeout", r.GetTimeout())
	if err != nil {
		return nil, err
	}
	env, err := variables(r.GetEnv())
	if err != nil {
		return nil, err
	}
	result, err := c.runner.Run(ctx, id, code.Request{
		Language: code.Language(r.GetLanguage()), Code: r.GetCode(), Context: r.GetContextId(),
		Place: code.Place{Env: env, Dir: r.GetDir(), User: r.GetUser()},
		Input: r.GetStdin(), Timeout: timeout, MaxOutput: r.GetMaxOutputBytes(), Validation: validations[r.GetValidation()],
	})
	if err != nil {
		return nil, err
	}
	out := &aiboxv1.RunCodeResponse{
		Status: codeStatuses[result.Status],
		Stdout: result.Stdout.Bytes, Stderr: result.Stderr.Bytes,
		StdoutDroppedBytes: result.Stdout.Dropped, StderrDroppedBytes: result.Stderr.Dropped,
		Result: result.Value, Error: result.Error, Duration: durationpb.New(result.Took),
	}
	if result.Exit != nil {
		exit := int32(*result.Exit)
		out.ExitCode = &exit
	}
	for _, f := range result.Findings {
		out.Findings = append(out.Findings, &aiboxv1.CodeFinding{Rule: f.Rule, Message: termtext.Escape(f.Message), Line: int32(f.Line), Column: int32(f.Column)})
	}
	return out, nil
}

func (c codeRunner) CreateContext(ctx context.Context, id session.ID, r *aiboxv1.CreateContextRequest) (*aiboxv1.CodeContext, error) {
	language, err := code.ParseLanguage(r.GetLanguage())
	if err != nil {
		return nil, err
	}
	env, err := variables(r.GetEnv())
	if err != nil {
		return nil, err
	}
	place := code.Place{Env: env, Dir: r.GetDir(), User: r.GetUser()}
	name, err := c.runner.CreateContext(ctx, id, language, place)
	if err != nil {
		return nil, err
	}
	return &aiboxv1.CodeContext{ContextId: name, Language: string(language)}, nil
}

func (c codeRunner) DeleteContext(ctx context.Context, id session.ID, name string) error {
	return c.runner.DeleteContext(ctx, id, name)
}
