"""What several nodes of this package share: messages, services, parameters and subscriptions."""
