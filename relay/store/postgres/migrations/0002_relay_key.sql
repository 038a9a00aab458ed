-- Additive.
-- The relay's own secret key: one for all replicas, made by the first that needs it.
CREATE TABLE relay_key (
    one    boolean PRIMARY KEY DEFAULT true CHECK (one),
    secret bytea   NOT NULL CHECK (length(secret) = 32)
);
