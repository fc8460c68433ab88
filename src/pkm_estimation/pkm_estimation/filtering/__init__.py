"""The filter of one machine: start, prediction, correction, constants, adaptation."""
