// Package compose provides the parts of a run that a user composes on a screen:
// repositories, agents, images, models and prompts, with their settings and remembered
// choices. It checks and starts the composed request as `aibox run` does. It prints nothing
// and asks nothing.
package compose
