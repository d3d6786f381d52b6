import { useState } from "react";
import { createRoot } from "react-dom/client";
import { Client, toFormErrors } from "inkube-client";

const FIELDS = {
  "metadata.name": "name", "spec.broker": "broker", "spec.topic": "topic", "secure.password": "password",
};
const topics = new Client(new URLSearchParams(location.search).get("server"), "/apis/example.com/v1/namespaces/default/topics");
const objectOf = ({ name, broker, topic, password }) => ({
  metadata: { name }, spec: { broker, topic }, secure: password ? { password: { create: password } } : {},
});

function Form() {
  const [values, setValues] = useState({ name: "", broker: "", topic: "", password: "" });
  const [errors, setErrors] = useState(toFormErrors([], FIELDS));
  const show = (promise) => promise.then((found) => setErrors(toFormErrors(found ?? [], FIELDS)), (e) => setErrors(toFormErrors(e, FIELDS)));
  const change = ({ target }) => {
    const next = { ...values, [target.id]: target.value };
    setValues(next);
    show(topics.validate(objectOf(next)));
  };
  return (
    <form onSubmit={(event) => (event.preventDefault(), show(topics.create(objectOf(values))))}>
      {Object.values(FIELDS).map((id) => (
        <p key={id}>
          <label htmlFor={id}>{id}</label>
          <input id={id} type={id === "password" ? "password" : "text"} value={values[id]} onChange={change} aria-invalid={id in errors.fields} />
          <output id={`${id}-error`}>{errors.fields[id]}</output>
        </p>
      ))}
      <ul>{errors.form.map((text) => <li key={text}>{text}</li>)}</ul>
      <button>Save</button>
    </form>
  );
}

createRoot(document.getElementById("form")).render(<Form />);
